"""How often a fault is tried: a few times in every test run, often before a release."""

import inspect
import os
from pathlib import Path

__all__ = ["count"]


def count(quick: int, full: int) -> int:
    """The full number under scripts/faults, which sets SEQLOOM_FAULTS, and else the quick one.

    The full one is written down for scripts/faults, with the place that asked.
    """
    if os.environ.get("SEQLOOM_FAULTS") != "full":
        return quick
    if trials := os.environ.get("SEQLOOM_FAULT_TRIALS"):
        caller = inspect.stack()[1]
        with Path(trials).open("a", encoding="utf-8") as file:
            file.write(f"{caller.filename}:{caller.lineno} {full}\n")
    return full
