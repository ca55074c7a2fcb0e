"""A single-threaded process that has trained once and forks a command at a time.

Importing torch and its first use cost seconds, so commands that are to be killed start from here. Jobs come in on
standard input and exit codes go out on standard output, one JSON value a line.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from seqloom.store import durable

__all__ = ["Ended", "Nursery", "nursery"]

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
        errors = self._folder / "errors"
        job = {"arguments": arguments, "errors": str(errors), "fault": fault}
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("started without pipes")
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return Ended(int(self._process.stdout.readline()), errors.read_text())


@contextmanager
def nursery(folder: Path) -> Iterator[Nursery]:
    """Start one, and end it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.run.nursery"],
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


def _command(job: dict[str, Any]) -> None:
    """Become the command, with nothing of this process but its imports."""
    from seqloom.cli import main

    for stream, path in ((1, os.devnull), (2, job["errors"]), (0, os.devnull)):
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC if path != os.devnull else os.O_RDWR
        os.dup2(os.open(path, flags, 0o600), stream)
    if "operation" in job["fault"]:
        _watch(job["fault"])
    sys.argv = ["seqloom", *job["arguments"]]
    main()


def _await(child: int, fault: dict[str, Any]) -> int:
    """Kill the child after so many seconds, if told to, and wait for it."""
    if "after" in fault:
        time.sleep(fault["after"])
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _serve() -> None:
    import torch

    from seqloom.run import train
    from tests.run.support import PAIRS, options

    torch.set_num_threads(1)
    os.cpu_count = lambda: 1
    with TemporaryDirectory() as folder:
        train(PAIRS, folder, options=options(updates=1))
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 70
            try:
                _command(job)
            except SystemExit as ending:
                code = ending.code if isinstance(ending.code, int) else 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(_await(child, job["fault"]), flush=True)


if __name__ == "__main__":
    _serve()
