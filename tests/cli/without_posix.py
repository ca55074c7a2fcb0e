"""Trains, predicts, evaluates and serves in a process where nothing of POSIX alone can be had.

Libraries are imported first: they have ways of their own on other systems. What is imported after
that, all of Seqloom, finds neither the modules nor the functions, flags and signals that Windows
lacks.
"""

import json
import os
import signal
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

LIBRARIES = (
    "asyncio fastapi filelock matplotlib.pyplot multiprocessing.reduction prometheus_client "
    "rich.progress sacrebleu shutil subprocess torch.distributed typer uvicorn"
)
MODULES = "fcntl grp posix pty pwd resource syslog termios tty"
FUNCTIONS = (
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK chown fchmod fchown fork forkpty getegid geteuid "
    "getgid getloadavg getpgid getuid killpg mkfifo mknod nice openpty pipe2 posix_fadvise pread "
    "pwrite sched_getaffinity sendfile setpgid setsid statvfs sync ttyname uname wait wait3 wait4"
)
SIGNALS = (
    "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 alarm pthread_kill setitimer"
)


def hide_posix() -> None:
    """Take away what Windows does not have, once the libraries are there."""
    for name in LIBRARIES.split():
        __import__(name)
    hidden: dict[str, ModuleType | None] = dict.fromkeys(MODULES.split())
    sys.modules |= hidden  # type: ignore[arg-type]  # None is what makes an import fail
    for module, names in ((os, FUNCTIONS), (signal, SIGNALS)):
        for name in names.split():
            delattr(module, name)


def run_command(*arguments: str) -> None:
    """A command of Seqloom, which has to end well."""
    from seqloom.cli import main

    sys.argv = ["seqloom", *arguments]
    try:
        main()
    except SystemExit as ending:
        if ending.code:
            raise


@contextmanager
def serving(run: Path) -> Iterator[str]:
    """The address of a server of the run, which decodes in threads since it cannot fork."""
    from seqloom import load
    from seqloom.scheduling.templates import fork_template
    from seqloom.serving.guard import Access
    from seqloom.serving.limits import ServingConfig
    from seqloom.serving.server import _allow_files, address_of, bind_socket, run_server, server_for

    models = {"run": load(run)}
    _allow_files(100)
    assert fork_template(models, 2) is None
    listening = bind_socket("127.0.0.1", 0)
    server = server_for(models, Access(), ServingConfig())
    ready = threading.Event()
    thread = threading.Thread(
        target=run_server, args=(server, listening, lambda _: ready.set()), daemon=True
    )
    thread.start()
    try:
        assert ready.wait(60)
        yield address_of(listening)
    finally:
        server.should_exit = True
        thread.join()


def main() -> None:
    """The main path, with a second writer on the way."""
    folder = Path(sys.argv[1])
    hide_posix()
    from seqloom.errors import RunError
    from seqloom.runs.timing.estimate import peak_memory
    from seqloom.store import RunDirectory

    pairs, run = folder / "pairs.tsv", folder / "run"
    rows = [
        f"{word} {number}\t{word[::-1]} {number}" for number in range(9) for word in ("ab", "é")
    ]
    pairs.write_text("source\ttarget\n" + "\n".join(rows) + "\n", encoding="utf-8")
    options = [f"--set=training.{each}" for each in ("updates=1", "validate_every=1", "workers=1")]
    assert peak_memory() is None
    run_command("train", str(pairs), "--run", str(run), *options)
    run_command("predict", str(run), str(pairs))
    run_command("evaluate", str(run), str(pairs))
    holder, other = RunDirectory(run), RunDirectory(run)
    refused = pytest.raises(RunError, match=f"process {os.getpid()} ")
    with holder.lock(), refused, other.lock():
        pass
    with serving(run) as address:
        body = json.dumps({"inputs": ["ab 3"]}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{address}/v1/predict", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert len(json.load(answer)["outputs"]) == 1
    print("done")


if __name__ == "__main__":
    main()
