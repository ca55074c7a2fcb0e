"""Signals as a flag that is read once a step (RELIABILITY, signals)."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from seqloom.errors import Interrupted

__all__ = ["SIGNALS", "StopRequest", "stop_signals"]


NOTHING_YET = "stopped before the first update; the same command begins again"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Whether someone has asked to stop; while there is nothing to save, it is done at once."""

    def __init__(self) -> None:
        self.asked = False
        self.at_once = True
        self.sentence = NOTHING_YET

    @contextmanager
    def interruptible(self, sentence: str) -> Iterator[None]:
        """Within the block a request to stop, also an earlier one, ends it at once: Interrupted."""
        if self.asked:
            raise Interrupted(sentence)
        self.at_once, self.sentence = True, sentence
        try:
            yield
        finally:
            self.at_once = False

    def defer(self) -> None:
        """From now on there is something to save first."""
        if self.asked:
            raise Interrupted(NOTHING_YET)
        self.at_once = False


@contextmanager
def stop_signals(*, first: bool = True) -> Iterator[StopRequest]:
    """SIGINT, SIGTERM and SIGHUP ask to stop; a second one ends the process at once.

    Those that are ignored, as nohup does, stay so.
    A rank other than the first says nothing and waits for the first, which does the saving.
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
