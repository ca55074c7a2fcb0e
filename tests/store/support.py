"""What the store's tests share: steps that follow from their number, faults, processes."""

import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seqloom.randomness import key
from seqloom.store import Checkpoint, RunDirectory, durable

__all__ = [
    "KILLED",
    "Failing",
    "assert_is",
    "contents",
    "files_below",
    "in_child",
    "killed_at",
    "new_run",
    "operations",
    "progress_of",
    "save",
]

KILLED = -signal.SIGKILL
NAMES = ("model", "optimizer", "average")


def contents(step: int, *, size: int = 24) -> dict[str, dict[str, Tensor]]:
    """The tensors of a step, a function of its number alone."""
    files = {}
    for name in NAMES:
        generator = torch.Generator().manual_seed(key(7, "contents", name, step))
        files[name] = {
            "weight": torch.randn(size, 3, generator=generator),
            "bias": torch.randn(3, generator=generator, dtype=torch.float64),
            "count": torch.tensor(step),
        }
    return files


def progress_of(step: int) -> dict[str, Any]:
    """The progress of a step, a function of its number alone."""
    return {"step": step, "held_out": {"loss": 1 / (step + 3)}, "best": None}


def save(run: RunDirectory, step: int, *, size: int = 24) -> Path:
    """Save a step with the contents of its number."""
    return run.save_checkpoint(step, contents(step, size=size), progress=progress_of(step))


def new_run(path: Path, *steps: int) -> RunDirectory:
    """A run with these steps saved."""
    run = RunDirectory(path)
    run.create("seed = 1\n")
    for step in steps:
        save(run, step)
        run.append_event({"step": step, "kind": "saved"})
    return run


def assert_is(step: Checkpoint | None, number: int, *, size: int = 24) -> None:
    """The step is the numbered one, bit for bit."""
    assert step is not None
    assert step.number == number
    assert step.progress() == progress_of(number)
    for name, tensors in contents(number, size=size).items():
        loaded = step.load(name)
        assert loaded.keys() == tensors.keys()
        for tensor in tensors:
            assert loaded[tensor].dtype == tensors[tensor].dtype
            assert torch.equal(loaded[tensor], tensors[tensor])


def files_below(path: Path) -> dict[str, bytes]:
    """Every file below a directory with its bytes, except the lock, which names a process."""
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.name != "lock"
    }


def operations(action: Callable[[], object]) -> list[tuple[str, Path]]:
    """The durable operations of an action, in order."""
    seen: list[tuple[str, Path]] = []
    durable.observe = lambda operation, path: seen.append((operation, path))
    try:
        action()
    finally:
        durable.observe = durable.no_observer
    return seen


class Failing:
    """While entered, durable operation `at` (from 0) raises; if `lasting`, later ones do too."""

    def __init__(self, at: int, error: BaseException, *, lasting: bool = False) -> None:
        self.at, self.error, self.lasting = at, error, lasting
        self.seen = 0

    def __enter__(self) -> None:
        durable.observe = self._observe

    def __exit__(self, *unused: object) -> None:
        durable.observe = durable.no_observer

    def _observe(self, operation: str, path: Path) -> None:
        self.seen += 1
        if self.seen - 1 == self.at or (self.lasting and self.seen > self.at):
            raise self.error


def in_child(action: Callable[[], object]) -> int:
    """Start a process that does this and nothing else; its process number."""
    with warnings.catch_warnings():
        # The child touches no thread of its parent: it computes with one and leaves by _exit.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            torch.set_num_threads(1)
            action()
            status = 0
        finally:
            os._exit(status)
    return child


def killed_at(operation: int, action: Callable[[], object]) -> int:
    """Do the action in a process that is killed before its durable operation of this number."""
    seen = 0

    def kill(name: str, path: Path) -> None:
        nonlocal seen
        if seen == operation:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    def watched() -> None:
        durable.observe = kill
        action()

    _, status = os.waitpid(in_child(watched), 0)
    return os.waitstatus_to_exitcode(status)
