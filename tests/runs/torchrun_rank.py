"""`seqloom` as torchrun starts it, with a fault in its first attempt (RELIABILITY A9).

    torchrun ... -m tests.runs.torchrun_rank -- OPERATION VICTIM train ...

Before durable operation number OPERATION the first rank kills itself, or the `other` rank.
"""

import os
import signal
import sys
from pathlib import Path

from seqloom.cli.app import main
from seqloom.store import durable

__all__: list[str] = []


def _others() -> list[int]:
    """The other processes that torchrun has started."""
    agent = os.getppid()
    children = Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
    return [int(each) for each in children if int(each) != os.getpid()]


def _watch(operation: int, victim: str) -> None:
    seen = 0

    def observe(name: str, path: Path) -> None:
        nonlocal seen
        if seen == operation:
            for process in _others() if victim == "other" else [os.getpid()]:
                os.kill(process, signal.SIGKILL)
        seen += 1

    durable.observe = observe


if __name__ == "__main__":
    os.sched_getaffinity = lambda _: {0}  # as for every other test
    words = [each for each in sys.argv[1:] if each != "--"]
    if os.environ["RANK"] == "0" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        _watch(int(words[0]), words[1])
    sys.argv = ["seqloom", *words[2:]]
    main()
