"""Output files of `predict` written in parts, so that they can be resumed and shared by processes.

The input is cut into blocks of lines. Each finished block is a file of its own beside the output,
so that an interrupted call can be resumed and ranks of torchrun can share the work. When all blocks
exist they are joined in the order of the input.
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
POLL = 0.2  # seconds between polls for the blocks of other ranks
COPIED = 1 << 20  # bytes at a time


@dataclass(frozen=True)
class OutputParts:
    """The blocks of an output, and which of them this process writes."""

    output: Path
    block: int  # lines
    rank: int = 0
    world: int = 1

    @property
    def folder(self) -> Path:
        """The folder of finished blocks."""
        return self.output.with_name(f"{self.output.name}.parts")

    def part(self, number: int) -> Path:
        """The file of a block."""
        return self.folder / f"{number:07d}"

    def blank_finished(self, cells: Iterable[str]) -> Iterator[str]:
        """The inputs, blank in blocks that are finished or belong to another process.

        Blank inputs are not decoded, and the others keep their line number, on which sampling
        depends.
        """
        wanted = False
        for line, cell in enumerate(cells):
            number, offset = divmod(line, self.block)
            if offset == 0:
                wanted = self._is_wanted(number)
            yield cell if wanted else ""

    def write(self, lines: Iterable[str]) -> int:
        """Write this process's blocks from the output lines of all; return the number of lines."""
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
        """Join the blocks once all exist; called by the first process at the end."""
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
        """Write a block atomically."""
        if not self._is_wanted(number):
            return
        draft = self.part(number).with_suffix(f".{self.rank}")
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.part(number))


def open_parts(parts: OutputParts, made_from: Mapping[str, object], *, resume: bool) -> OutputParts:
    """Start an output, or resume one made from the same input, model and search.

    ConfigError if there are parts and `resume` is off, or they are from another input, model or
    search. Several ranks always resume.
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
