"""Compiled code that takes minutes, run so that signals are heard meanwhile."""

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["run_interruptibly"]

Result = TypeVar("Result")


def run_interruptibly(work: Callable[[], Result]) -> Result:
    """What some work returns or raises, done in a thread that ends with the process.

    Python's handlers of signals run in the main thread between two operations of the interpreter,
    so that it must not itself be inside of compiled code.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised where it is waited for
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
