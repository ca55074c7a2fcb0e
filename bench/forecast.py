"""Forecasts of ETTh1, 96 hours ahead, all seven columns (docs/tasks.md).

    python bench/forecast.py [NAME ...]

Names: at-once, fed-back. The file lies in the folder that SEQLOOM_SHARED_DATA names; the first
twelve months are learnt from, the next four held out, the four after that the test, and errors are
of columns brought to mean 0 and deviation 1, as is usual. A training that was stopped goes on.
"""

import sys
from collections.abc import Sequence
from typing import Any

from foundation import RUNS, evaluation, shared, trained
from uses import keep

PARTS = ["--target", "all:series", "--set", "target.horizon=96"]
PARTS += ["--set", "data.parts=[8640,2880,2880]"]
KINDS: dict[str, list[str]] = {
    "at-once": [],
    "fed-back": ["--model", "gru"],
}


def measure(name: str) -> dict[str, Any]:
    """Errors on the test part, and those of the simple forecasts."""
    data, run = str(shared("ett", "ETTh1.csv")), RUNS / f"etth1-{name}"
    found = trained(run, data, *PARTS, *KINDS[name]) | evaluation(run, data)
    del found["rows"]  # of the whole file
    return {**found, "notes": [found.pop("forecast")]}


def main(names: Sequence[str]) -> None:
    """Measure what is named, or both."""
    for name in names or KINDS:
        keep(f"etth1-{name}", measure(name))


if __name__ == "__main__":
    main(sys.argv[1:])
