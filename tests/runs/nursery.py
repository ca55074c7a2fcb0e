"""A process that has everything imported, and no thread at work, and forks a command at a time.

Importing torch costs seconds, so commands that are to be killed start from here. Jobs come in on
standard input and exit codes go out on standard output, one JSON value a line.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from seqloom.api.train import train
from seqloom.store import durable
from seqloom.tokenizers.words import word_pattern
from tests.runs.support import PAIRS, options

__all__ = ["ROOT", "Ended", "Nursery", "nursery"]

ROOT = Path(__file__).parent.parent.parent


class Ended(NamedTuple):
    """How a command ended: its exit code, or minus the signal that killed it."""

    code: int
    errors: str

    @property
    def sentence(self) -> str:
        """The last line it wrote to standard error."""
        return self.errors.splitlines()[-1] if self.errors else ""


class Nursery:
    """The other end, as tests see it."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process = process
        self._folder = folder

    def run(self, *arguments: str, **fault: Any) -> Ended:
        """Run `seqloom ARGUMENTS`, with one of the faults of `_watch` or `_await`."""
        (ended,) = self._ended({"arguments": arguments, "world": 0, "fault": fault})
        return ended

    def launch(self, *arguments: str, world: int = 2, **fault: Any) -> list[Ended]:
        """Run it as so many ranks, as torchrun would; the fault may name a `rank`, or it is 0."""
        return self._ended({"arguments": arguments, "world": world, "fault": fault})

    def _ended(self, job: dict[str, Any]) -> list[Ended]:
        errors = [self._folder / f"errors-{rank}" for rank in range(job["world"] or 1)]
        job["errors"] = [str(path) for path in errors]
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("started without pipes")
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        codes = json.loads(self._process.stdout.readline())
        return [Ended(code, path.read_text()) for code, path in zip(codes, errors, strict=True)]


@contextmanager
def nursery(folder: Path) -> Iterator[Nursery]:
    """Start one, and end it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.runs.nursery"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Nursery(process, folder)
        if process.stdin is not None:
            process.stdin.close()


def _watch(fault: dict[str, Any]) -> None:
    """Send this process `signals` before its durable operation number `operation`."""
    seen = 0

    def observe(name: str, path: Path) -> None:
        nonlocal seen
        if seen == fault["operation"]:
            for number in fault["signals"]:
                os.kill(os.getpid(), number)
        seen += 1
        if count := fault.get("count"):
            Path(count).write_text(json.dumps([*json.loads(Path(count).read_text()), name]))

    durable.observe = observe


def _command(job: dict[str, Any], rank: int) -> None:
    """Become the command, with nothing of this process but its imports."""
    from seqloom.cli.app import main

    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup, under which tests may run, ignores
    for stream, path in ((1, os.devnull), (2, job["errors"][rank]), (0, os.devnull)):
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC if path != os.devnull else os.O_RDWR
        os.dup2(os.open(path, flags, 0o600), stream)
    if job["world"]:
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": job["world"]}
        os.environ |= {name: str(value) for name, value in place.items()}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": job["port"]}
    if "operation" in job["fault"] and rank == job["fault"].get("rank", 0):
        _watch(job["fault"])
    sys.argv = ["seqloom", *job["arguments"]]
    main()


def _await(children: list[int], fault: dict[str, Any]) -> list[int]:
    """Kill a child after so many seconds, or send a signal when it has got somewhere; wait."""
    child = children[fault.get("rank", 0)]
    if "after" in fault:
        time.sleep(fault["after"])
        os.kill(child, signal.SIGKILL)
    if "when" in fault:
        while not (os.path.exists(fault["when"]) or (fault["when"] == "worker" and _kin(child))):
            time.sleep(0.02)
        time.sleep(fault.get("later", 0.0))
        match fault["to"]:
            case "group":
                os.killpg(child, fault["signal"])
            case "first":
                os.kill(child, fault["signal"])
            case "workers":
                for worker in _kin(child):
                    os.kill(worker, fault["signal"])
    return [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in children]


def _kin(process: int) -> list[int]:
    """The processes that it has started and that are still there."""
    return [
        int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def _serve() -> None:
    import torch

    torch.set_num_threads(1)
    os.sched_getaffinity = lambda _: {0}
    for name in ("compare", "describe", "evaluate", "interchange", "optimize", "report", "train"):
        import_module(f"seqloom.api.{name}")
    _import_as_training_does()
    for line in sys.stdin:
        job = json.loads(line)
        with socket.create_server(("127.0.0.1", 0)) as free:
            job["port"] = str(free.getsockname()[1])
        children = [_forked(job, rank) for rank in range(job["world"] or 1)]
        print(json.dumps(_await(children, job["fault"])), flush=True)


def _import_as_training_does() -> None:
    """Import what a whole training imports at first use.

    A child trains and tells: backward would start a thread here, and threads are not forked.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # on which the parent answers
            with tempfile.TemporaryDirectory() as folder:
                train(PAIRS, Path(folder, "run"), options=options(updates=2, validate_every=2))
            with os.fdopen(writing, "w") as told:
                told.write(json.dumps(sorted(sys.modules)))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as told:
        names = json.loads(told.read())
    os.waitpid(child, 0)
    for name in names:
        if name not in sys.modules:
            with suppress(Exception):  # modules of packages that import each other
                import_module(name)
    word_pattern()


def _forked(job: dict[str, Any], rank: int) -> int:
    """A child that becomes the command."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        _command(job, rank)
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
