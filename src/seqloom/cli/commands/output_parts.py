"""The output of `predict` as a file made of parts, which several processes can share.

The input is cut into blocks of lines. Each finished block is a file of its own beside the output,
so that a later call goes on where a break was, and ranks of torchrun take turns. The blocks are
joined in the order of the input when all are there.
"""

import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from seqloom.errors import ConfigError, DataError

__all__ = ["OutputParts", "open_parts"]

PLAN = "plan.json"
POLL = 0.2  # seconds between two looks for the blocks of other ranks
COPIED = 1 << 20  # bytes at a time


@dataclass(frozen=True)
class OutputParts:
    """Where the blocks of an output lie, and which of them this process writes."""

    output: Path
    block: int  # lines
    rank: int = 0
    world: int = 1

    @property
    def folder(self) -> Path:
        """The blocks that are finished."""
        return self.output.with_name(f"{self.output.name}.parts")

    def part(self, number: int) -> Path:
        """The file of a block."""
        return self.folder / f"{number:07d}"

    def blank_finished(self, cells: Iterable[str]) -> Iterator[str]:
        """The inputs, blank where their outputs are not wanted from this process.

        Blank inputs are not decoded, and all others keep their line, which draws depend on.
        """
        wanted = False
        for line, cell in enumerate(cells):
            number, offset = divmod(line, self.block)
            if offset == 0:
                wanted = self._is_wanted(number)
            yield cell if wanted else ""

    def write(self, lines: Iterable[str]) -> int:
        """Write the blocks of this process from the output lines of all; how many lines came."""
        number, pending = 0, list[str]()
        for line in lines:
            pending.append(line)
            if len(pending) == self.block:
                self._write_block(number, pending)
                number, pending = number + 1, []
        if pending:
            self._write_block(number, pending)
        return number * self.block + len(pending)

    def join(self, lines: int) -> None:
        """Put the blocks together, once all are there; what the first process does in the end."""
        if self.rank:
            return
        paths = [self.part(number) for number in range(-(-lines // self.block))]
        while not all(path.is_file() for path in paths):  # other ranks are still at work
            time.sleep(POLL)
        draft = self.folder / "joined"
        with draft.open("wb") as whole:
            for path in paths:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, whole, COPIED)
            whole.flush()
            os.fsync(whole.fileno())
        draft.replace(self.output)
        shutil.rmtree(self.folder)

    def _is_wanted(self, number: int) -> bool:
        return number % self.world == self.rank and not self.part(number).is_file()

    def _write_block(self, number: int, lines: list[str]) -> None:
        """Write a block whole or not at all."""
        if not self._is_wanted(number):
            return
        draft = self.part(number).with_suffix(f".{self.rank}")
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.part(number))


def open_parts(parts: OutputParts, made_from: Mapping[str, object], *, resume: bool) -> OutputParts:
    """Begin an output, or go on with one that is made from the same.

    ConfigError where there are parts and none are to be gone on with, or they are of another
    input, model or search. Several ranks always go on.
    """
    plan, path = json.loads(json.dumps(made_from)), parts.folder / PLAN
    try:
        if path.is_file():
            if not resume and parts.world == 1:
                raise ConfigError(
                    "holds parts of an earlier output",
                    place=parts.folder,
                    remedy="go on with --resume, or remove it",
                )
            _check_plan(json.loads(path.read_text(encoding="utf-8")), plan, parts.folder)
            return parts
        parts.folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{parts.rank}")
        draft.write_text(json.dumps(plan), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror})",
            place=parts.folder,
            remedy="choose another place for --output",
        ) from error
    return parts


def _check_plan(earlier: Mapping[str, object], plan: Mapping[str, object], folder: Path) -> None:
    other = [name for name in plan if earlier.get(name) != plan[name]]
    if other:
        raise ConfigError(
            f"was made from another {', '.join(other)}",
            place=folder,
            remedy="give the command as it was, or remove the folder",
        )
