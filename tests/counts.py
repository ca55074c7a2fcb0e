"""How often a fault is tried: a few times in every test run, often before a release."""

import os

__all__ = ["count"]


def count(quick: int, full: int) -> int:
    """The full number under scripts/faults, which sets SEQLOOM_FAULTS, and else the quick one."""
    return full if os.environ.get("SEQLOOM_FAULTS") == "full" else quick
