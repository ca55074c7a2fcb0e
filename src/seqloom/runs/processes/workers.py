"""One worker per core: processes that read the run directory and share each batch.

A worker is `python -m seqloom worker DIR MEETING RANK WORLD`, so a caller's script is never
imported twice. It ends when the first process says so or has ended.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import torch

from seqloom.config import TrainingConfig
from seqloom.errors import ConfigError, Interrupted, RunError, SeqloomError
from seqloom.registry import foreign_modules
from seqloom.runs.learner import Learner
from seqloom.runs.process import SIGNALS, StopRequest, cores
from seqloom.runs.processes.device import learning_device, threads
from seqloom.store import RunDirectory
from seqloom.training import SINGLE_PROCESS, Ranks, process_group

__all__ = ["local_workers", "work", "worker_count"]

ENDING = 5.0  # grace period of a worker's end
WORTH_WORKERS = 1_000_000  # target positions in a whole run, below which starting costs more


def worker_count(config: TrainingConfig) -> int:
    """The configured number, or one per core if the run is long enough to repay their start.

    Custom parts that workers cannot import require a single process; ConfigError if more are
    configured.
    """
    own = next((name for name, folder in foreign_modules().items() if folder is None), None)
    if own is not None and config.workers > 1:
        raise ConfigError(
            f"the parts that {own} defines cannot be imported by other processes",
            place=f"training.workers = {config.workers}",
            remedy="move them into a module of their own, or set it to 1",
        )
    if config.workers or config.batch_rows == 1 or own is not None:
        return config.workers or 1
    if learning_device(config).type != "cpu":
        return 1
    positions = config.updates * config.batch_tokens * config.accumulate
    return cores() if positions >= WORTH_WORKERS else 1


@contextmanager
def local_workers(
    directory: RunDirectory, config: TrainingConfig, stop: StopRequest
) -> Iterator[Ranks]:
    """Start the other workers, run as the first, and wait for them at the end."""
    world = worker_count(config)
    if world == 1:
        yield SINGLE_PROCESS
        return
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="seqloom-"))
        place = Path(folder) / "meeting"
        workers = [
            stack.enter_context(
                _start_worker([str(directory.path), str(place), str(rank), str(world)])
            )
            for rank in range(1, world)
        ]
        _wait_until_ready(place, workers, stop)
        stack.enter_context(threads(1))
        meeting = place.absolute().as_uri()
        group = process_group(meeting, 0, world, asked=lambda: stop.asked)
        yield stack.enter_context(group)


@contextmanager
def _start_worker(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker process that imports this package and the modules of custom parts.

    It does not receive the terminal's signals, and ends when its standard input is closed.
    """
    here, modules = Path(__file__).parents[3], foreign_modules()
    folders = dict.fromkeys(str(folder) for folder in (here, *modules.values()) if folder)
    paths = [*folders, *filter(None, [os.environ.get("PYTHONPATH")])]
    imports = [word for name in modules for word in ("--import", name)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "seqloom", *imports, "worker", "--", *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        process_group=0,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
    )
    try:
        yield process
    finally:
        with process:  # waits for its end
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(timeout=ENDING)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_ready(
    place: Path, workers: list[subprocess.Popen[bytes]], stop: StopRequest
) -> None:
    """Wait until every worker is ready; RunError if one has ended."""
    while not all(_ready_file(place, rank).exists() for rank in range(1, len(workers) + 1)):
        if any(worker.poll() is not None for worker in workers):
            raise RunError(
                "a worker could not be started", remedy="set training.workers=1 to do without"
            )
        if stop.asked:
            raise Interrupted(
                "stopped before an update was made", remedy="the same command goes on"
            )
        time.sleep(0.02)


def _ready_file(place: Path, rank: int) -> Path:
    return place.with_name(f"ready-{rank}")


def work(open_learner: Callable[[], Learner], place: Path, rank: int, world: int) -> None:
    """Run as a further worker of a run that another process has prepared."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    learner = open_learner()
    _ready_file(place, rank).touch()
    with (
        suppress(SeqloomError),
        process_group(place.absolute().as_uri(), rank, world) as ranks,
    ):  # reported by the first process
        for _ in learner.updates(ranks):
            pass


def _exit_with_parent() -> None:
    """End the process when its standard input is closed by the parent or by its end.

    The descriptor is read directly, since Python aborts if a thread reads `sys.stdin` at exit.
    """
    while os.read(0, 1):
        pass
    os._exit(0)
