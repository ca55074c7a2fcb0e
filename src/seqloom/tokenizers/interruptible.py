"""Run long compiled code so that signals are still handled."""

import threading
from collections.abc import Callable
from typing import TypeVar

from seqloom.parallel import exit_code_of, exit_without_waiting

__all__ = ["run_interruptibly"]

Result = TypeVar("Result")


def run_interruptibly(work: Callable[[], Result]) -> Result:
    """Call a function in a daemon thread, and return or raise its result.

    Python runs signal handlers in the main thread between two bytecodes, so the main thread must
    not be inside compiled code.
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    ended = threading.Event()  # Python 3.11 considers a thread ended once its join is interrupted

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again in the waiting thread
            errors.append(error)
        ended.set()

    try:
        threading.Thread(target=run, daemon=True).start()
        ended.wait()
    except BaseException as interruption:
        exit_without_waiting(lambda: not ended.is_set(), exit_code_of(interruption))
        raise
    if errors:
        raise errors[0]
    return results[0]
