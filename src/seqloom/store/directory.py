"""The run directory: the only thing that training hands over (docs/architecture.md).

    config.toml    what the run is; written last, so a run that has it is complete
    fields/        source and target columns as they were learnt
    cache/         encoded data, rebuilt when missing
    events.jsonl   what happened: one JSON object a line, added to as training goes on
    lock           held by the one process that writes
    step-000500/   a saved step
    optimized/     the form that a step is used in, where `optimize` made one

What begins with `.seqloom-` is unfinished: no reader looks at it, and the next writer removes it.
"""

import difflib
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from filelock import lock_descriptor

from seqloom.errors import Interrupted, RunError
from seqloom.remedies import Command, Phrase, Remedy, Setting
from seqloom.store import durable
from seqloom.store.checkpoints import (
    Checkpoint,
    SkippedCheckpoint,
    fields_digest,
    step_name,
    write_checkpoint,
)
from seqloom.store.durable import parse_json, read_plain
from seqloom.store.events import append_event, read_events, truncate_events

if TYPE_CHECKING:
    from seqloom.store.tensors import Tensors

__all__ = ["RunDirectory"]

OPTIMIZED = "optimized"
OURS = {"config.toml", "fields", "cache", "distilled", "events.jsonl", "lock", OPTIMIZED}
CONFIG_MISSING = "has saved steps, yet its config.toml is missing"
BRING_BACK = "bring config.toml back"
LEAST_VERIFIED = 2
LOCKED_BYTES = 1  # of the lock's file, which Windows lets nobody else read
UNFINISHED = ".seqloom-"
REQUEST = ".seqloom-request"  # one that is left over is removed with whatever is unfinished

DISPLACED = ".seqloom-displaced-"


class RunDirectory:
    """The files of a run: written atomically, and verified before they are used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fields: str | None = None  # hash of the fields that steps are saved with

    @property
    def exists(self) -> bool:
        """Whether the directory holds a complete run."""
        return os.path.lexists(self.path / "config.toml")

    @property
    def fields_directory(self) -> Path:
        """The directory of the learnt fields, `source` and `target`."""
        return self._own_directory("fields")

    @property
    def cache_directory(self) -> Path:
        """The directory of the encoded data, which may be removed at any time."""
        return self._own_directory("cache")

    def create(self, config_text: str) -> None:
        """Complete a new run: sync its fields to disk, then write config.toml."""
        self._require_own()
        beside = self.path / f"{UNFINISHED}{os.getpid()}-config"
        with durable.run_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            if self.fields_directory.exists():
                durable.sync_tree(self.fields_directory)
            self._fields = fields_digest(self.fields_directory)
            durable.remove_tree(beside)
            durable.write_file(beside, config_text.encode())
            durable.rename(beside, self.path / "config.toml")
            durable.sync_directory(self.path)
            durable.sync_directory(self.path.parent)

    def config_text(self) -> str:
        """The text of config.toml."""
        path = self.path / "config.toml"
        if self.path.is_file():
            raise RunError(
                "a file, not the directory of a run", place=self.path, remedy="name the directory"
            )
        if not self.exists:
            if self.path.is_dir() and self.checkpoints():
                raise RunError(CONFIG_MISSING, place=self.path, remedy=BRING_BACK)
            raise RunError("no run is here", place=self.path, remedy=_other_run(self.path))
        try:
            return read_plain(path).decode()
        except UnicodeDecodeError as error:
            raise RunError(
                f"not UTF-8 at byte {error.start}", place=path, remedy="restore the file"
            ) from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the writer's lock until the block or the process ends; RunError if it is taken."""
        self._require_own()
        path = self.path / "lock"
        with ExitStack() as cleanup:
            with durable.run_errors(path):
                self.path.mkdir(parents=True, exist_ok=True)
                handle = durable.open_descriptor(path, os.O_RDWR | os.O_CREAT)
                cleanup.callback(os.close, handle)
                self._acquire(handle)
                self._tidy()
            self._fields = fields_digest(self.fields_directory)
            yield

    def missing_parents(self) -> list[Path]:
        """The run's directory and those above it that are not there yet, the innermost first."""
        return [each for each in (self.path, *self.path.parents) if not os.path.lexists(each)]

    @contextmanager
    def undo_failed_start(self, missing: Collection[Path]) -> Iterator[None]:
        """Where the block fails, remove what it wrote, and these directories if they are empty.

        The lock is held; what lay here before stays, and all does where a signal ends the block.
        """
        before = {entry.name for entry in self.path.iterdir()} - ({"lock"} if missing else set())
        try:
            yield
        except Interrupted:
            raise
        except Exception:
            with suppress(OSError):
                for entry in self.path.iterdir():
                    if entry.name not in before:
                        durable.remove_tree(entry)
                for each in missing:
                    each.rmdir()
            raise

    def save_checkpoint(
        self, step: int, files: "Mapping[str, Tensors]", *, progress: dict[str, Any]
    ) -> Path:
        """Save `files` (model, optimizer, perhaps average) and progress: all of it, or nothing.

        DivergedError, naming the tensor, if a value is not finite; RunError if the disk refuses.
        """
        return self._save(self.path / step_name(step), step, files, progress)

    def save_optimized(
        self, step: int, files: "Mapping[str, Tensors]", *, facts: dict[str, Any]
    ) -> Path:
        """Save the optimized form of a step atomically, replacing an earlier one."""
        return self._save(self.path / OPTIMIZED, step, files, facts)

    def optimized(self) -> Checkpoint | None:
        """The optimized form of a step, if there is one; its progress holds the facts."""
        path = self._own_directory(OPTIMIZED)
        if not os.path.lexists(path):
            return None
        facts = parse_json(read_plain(path / "progress.json"), path / "progress.json")
        step = facts.get("step")
        if not isinstance(step, int):
            raise RunError("not an optimized form", place=str(path), remedy="remove it")
        return Checkpoint(step, path)

    def _save(
        self, path: Path, step: int, files: "Mapping[str, Tensors]", progress: dict[str, Any]
    ) -> Path:
        unfinished = self.path / f"{UNFINISHED}{os.getpid()}-{path.name}"
        displaced = self.path / f"{DISPLACED}{path.name}"
        with durable.run_errors(path), ExitStack() as undo:
            undo.callback(_discard, unfinished)
            durable.remove_tree(unfinished)
            fields = fields_digest(self.fields_directory) if self._fields is None else self._fields
            write_checkpoint(unfinished, step, files=files, progress=progress, fields=fields)
            if os.path.lexists(path):
                durable.remove_tree(displaced)
                durable.rename(path, displaced)
                undo.callback(_restore, displaced, path)
            durable.rename(unfinished, path)
            undo.pop_all()
            durable.sync_directory(self.path)
            durable.remove_tree(displaced)
        return path

    def checkpoints(self) -> list[Checkpoint]:
        """All step directories, oldest first, valid or not."""
        with durable.run_errors(self.path):
            found = [Checkpoint.at(path) for path in self.path.iterdir()]
        return sorted((step for step in found if step), key=lambda step: step.number)

    def latest_checkpoint(
        self, skipped: list[SkippedCheckpoint] | None = None
    ) -> Checkpoint | None:
        """The newest valid checkpoint; invalid ones are appended to `skipped` with the reason."""
        return next(self._intact_checkpoints(skipped), None)

    def require_usable_steps(self) -> None:
        """RunError where there are checkpoints and none is valid, since a new run would overwrite
        them."""
        skipped: list[SkippedCheckpoint] = []
        if not self.path.is_dir() or not self.checkpoints():
            return
        if not self.exists:
            problem, remedy = CONFIG_MISSING, BRING_BACK
        elif self.latest_checkpoint(skipped) is None:
            problem = f"none of its {len(skipped)} saved steps can be used: {skipped[0].why}"
            remedy = "restore one from a copy"
        else:
            return
        raise RunError(
            problem,
            place=self.path,
            remedy=Remedy(
                f"{remedy}, choose another {{}}, or pass {{}} to remove them and begin anew",
                Setting("run"),
                Setting("restart", True),
                otherwise=remedy,
            ),
        )

    def clear(self) -> int:
        """Remove all that belongs to a run, config.toml first; return the number of its steps.

        The lock is held. Pictures and other results that lie here stay.
        """
        steps = self.checkpoints()
        with durable.run_errors(self.path):
            for name in ("config.toml", "events.jsonl", "fields", "cache", OPTIMIZED):
                durable.remove_tree(self.path / name)
            for step in steps:
                durable.remove_tree(step.path)
            durable.sync_directory(self.path)
        return len(steps)

    def prune(self, keep: Collection[int]) -> None:
        """Remove all other steps except the two newest valid ones."""
        sound = self._intact_checkpoints()
        kept = {*keep, *(step.number for step in islice(sound, LEAST_VERIFIED))}
        with durable.run_errors(self.path):
            for step in self.checkpoints():
                if step.number not in kept:
                    unwanted = self.path / f"{UNFINISHED}{os.getpid()}-{step.path.name}"
                    durable.remove_tree(unwanted)
                    durable.rename(step.path, unwanted)
                    durable.remove_tree(unwanted)
            durable.sync_directory(self.path)

    def append_event(self, event: dict[str, Any]) -> None:
        """Add one line to events.jsonl."""
        append_event(self.path / "events.jsonl", event)

    def events(self) -> Iterator[dict[str, Any]]:
        """The recorded events, in order; a truncated last line is skipped."""
        return read_events(self.path / "events.jsonl")

    def truncate_events(self, after_step: int) -> None:
        """Remove the events of later steps."""
        path = self.path / "events.jsonl"
        if os.path.lexists(path):
            beside = self.path / f"{UNFINISHED}{os.getpid()}-events"
            truncate_events(path, beside, after_step=after_step)

    def leave_request(self, action: str) -> None:
        """Leave a request for the training process, which it reads before its next update."""
        beside = self.path / f"{REQUEST}-{os.getpid()}"
        with durable.run_errors(self.path):
            durable.write_file(beside, action.encode())
            durable.rename(beside, self.path / REQUEST)

    def take_request(self) -> str:
        """Read and remove the request to the training process; empty if there is none."""
        path = self.path / REQUEST
        if not os.path.lexists(path):
            return ""
        action = ""
        with suppress(RunError):
            action = read_plain(path).decode("utf-8", "replace")
        with suppress(OSError):
            path.unlink()
        return action

    def _intact_checkpoints(
        self, skipped: list[SkippedCheckpoint] | None = None
    ) -> Iterator[Checkpoint]:
        for step in reversed(self.checkpoints()):
            try:
                step.verify()
            except RunError as error:
                if skipped is not None:
                    skipped.append(SkippedCheckpoint(step.number, str(error)))
            else:
                yield step

    def _own_directory(self, name: str) -> Path:
        path = self.path / name
        if path.is_symlink():
            raise RunError("a symbolic link", place=path, remedy="put a directory in its place")
        return path

    def _require_own(self) -> None:
        """RunError where the directory holds something other than a run."""
        if self.exists or not os.path.lexists(self.path):
            return
        with durable.run_errors(self.path):
            for entry in self.path.iterdir():
                ours = entry.name in OURS or entry.name.startswith(".") or Checkpoint.at(entry)
                if not ours:
                    raise RunError(
                        f"holds {entry.name}, which is not part of a run",
                        place=self.path,
                        remedy=Remedy("choose an empty or new directory for {}", Setting("run")),
                    )

    def _acquire(self, handle: int) -> None:
        if not S_ISREG(os.fstat(handle).st_mode):
            raise RunError("not a plain file", place=self.path / "lock", remedy="remove it")
        if not lock_descriptor(handle, blocking=False):
            os.lseek(handle, LOCKED_BYTES, os.SEEK_SET)
            holder = os.read(handle, 20).decode(errors="replace")
            by = f"process {holder}" if holder.isdecimal() else "another process"
            raise RunError(
                f"{by} is writing to this run",
                place=self.path,
                remedy=Remedy("wait for it or choose another {}", Setting("run")),
            )
        os.ftruncate(handle, 0)
        os.write(handle, b" " * LOCKED_BYTES + str(os.getpid()).encode())

    def _tidy(self) -> None:
        """Clean up after a killed writer, and restore a step whose replacement did not finish."""
        for entry in sorted(self.path.iterdir()):
            place = self.path / entry.name.removeprefix(DISPLACED)
            known = Checkpoint.at(place) or place.name == OPTIMIZED
            if place != entry and known and not os.path.lexists(place):
                durable.rename(entry, place)
            elif entry.name.startswith(UNFINISHED):
                durable.remove_tree(entry)


def _discard(path: Path) -> None:
    with suppress(OSError):
        durable.remove_tree(path)


def _restore(old: Path, path: Path) -> None:
    with suppress(OSError):
        durable.rename(old, path)


def _other_run(path: Path) -> Phrase:
    """A run in this folder or of a similar name beside it; without one, how to make a run."""
    try:
        inside = sorted(each.parent for each in path.glob("*/config.toml"))
        beside = {each.parent.name: each.parent for each in path.parent.glob("*/config.toml")}
    except OSError:
        inside, beside = [], {}
    if inside:
        return f"name a run in it, such as {inside[0]}"
    near = difflib.get_close_matches(path.name, beside, n=1)
    if near:
        return f"did you mean {beside[near[0]]}?"
    return Remedy("make one with: {}", Command("train", "DATA", Setting("run", path)))
