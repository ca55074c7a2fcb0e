"""The training process: stop signals, cores, and its rank."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NamedTuple

from seqloom.errors import ConfigError, Interrupted

__all__ = [
    "SIGNALS",
    "StopRequest",
    "TorchrunEnvironment",
    "cores",
    "stop_signals",
    "torchrun_environment",
]

NOTHING_YET = "stopped before the first update; the same command begins again"
STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # the last two of POSIX and Windows
SIGNALS = tuple(signal.Signals[name] for name in STOP_SIGNALS if hasattr(signal, name))


class StopRequest:
    """Whether a stop was requested; while there is nothing to save, a request takes effect at
    once.
    """

    def __init__(self) -> None:
        self.asked = False
        self.at_once = True
        self.sentence = NOTHING_YET

    @contextmanager
    def interruptible(self, sentence: str) -> Iterator[None]:
        """Within the block a stop request, even an earlier one, raises Interrupted at once."""
        if self.asked:
            raise Interrupted(sentence)
        self.at_once, self.sentence = True, sentence
        try:
            yield
        finally:
            self.at_once = False

    def defer(self) -> None:
        """Defer stop requests: there is something to save from now on."""
        if self.asked:
            raise Interrupted(NOTHING_YET)
        self.at_once = False


@contextmanager
def stop_signals(*, first: bool = True) -> Iterator[StopRequest]:
    """Handle stop signals; a second one ends the process at once.

    Ignored signals, as by nohup, stay ignored. Ranks other than the first print nothing and wait
    for the first, which saves.
    """
    request = StopRequest()
    request.at_once = first

    def ask(number: int, _: FrameType | None) -> None:
        if request.asked:
            os._exit(128 + number)
        request.asked = True
        if request.at_once:
            raise Interrupted(request.sentence)
        if first:
            with suppress(OSError):
                os.write(2, b"\nstopping and saving after this update; once more stops at once\n")

    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, ask) for number in heard}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


class TorchrunEnvironment(NamedTuple):
    """This process's rank, the number of ranks, and its local rank."""

    rank: int
    world: int
    local_rank: int

    @property
    def is_restarted(self) -> bool:
        """Whether the launcher has restarted the ranks."""
        return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


def torchrun_environment() -> TorchrunEnvironment | None:
    """Read the launcher's environment variables; None without a launcher."""
    if any(name not in os.environ for name in NAMES):
        return None
    values = [os.environ[name] for name in NAMES[:3]]
    if not all(value.isdecimal() for value in values) or not int(values[0]) < int(values[1]):
        told = ", ".join(f"{name}={os.environ[name]}" for name in NAMES[:3])
        raise ConfigError(
            f"the environment says {told}", remedy="start with torchrun, or unset RANK"
        )
    return TorchrunEnvironment(*map(int, values))


def cores() -> int:
    """The number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
