"""One worker per core: further processes that read the run directory and share each batch.

A worker is `python -m seqloom worker DIR MEETING RANK WORLD`, so a caller's script is never
imported twice. It ends when the first process says so, or is gone.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import torch

from seqloom.config import TrainingConfig
from seqloom.errors import SeqloomError
from seqloom.run.learner import Learner
from seqloom.store import RunDirectory
from seqloom.training import ALONE, Ranks, meeting

__all__ = ["local_workers", "threads", "work"]

WORTH_WORKERS = 4_000_000  # target positions in a whole run, below which starting costs more


def worker_count(config: TrainingConfig) -> int:
    """As many as configured, or one for each core where the run is long enough to repay it."""
    if config.workers:
        return config.workers
    positions = config.updates * config.batch_tokens * config.accumulate
    return len(os.sched_getaffinity(0)) if positions >= WORTH_WORKERS else 1


@contextmanager
def local_workers(directory: RunDirectory, config: TrainingConfig) -> Iterator[Ranks]:
    """Start the other workers, be the first of them, and wait for them at the end."""
    world = worker_count(config)
    if world == 1:
        yield ALONE
        return
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="seqloom-"))
        place = Path(folder) / "meeting"
        for rank in range(1, world):
            stack.enter_context(_started(directory.path, place, rank, world))
        stack.enter_context(threads(1))
        yield stack.enter_context(meeting(place, 0, world))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads for torch within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _started(directory: Path, place: Path, rank: int, world: int) -> Iterator[None]:
    arguments = [str(directory), str(place), str(rank), str(world)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "seqloom", "worker", *arguments], env=environment
    )
    try:
        yield
    finally:
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def work(directory: Path, place: Path, rank: int, world: int) -> None:
    """Be one of the further workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    torch.set_num_threads(1)
    with suppress(SeqloomError), meeting(place, rank, world) as ranks:
        for _ in Learner.open(RunDirectory(directory)).updates(ranks):
            pass
