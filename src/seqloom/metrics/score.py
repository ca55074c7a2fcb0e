"""A metric's value with its 95 % interval, found by drawing the rows anew many times.

A metric here is a function of sums over rows, so a resample is how often each row counts.
"""

import math
from collections.abc import Callable, Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.randomness import key

__all__ = ["Counts", "Score", "check_rows", "interval", "score_rows"]

Counts = NDArray[np.int64]
"""How often each row counts."""
RESAMPLES = 1_000
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class Score:
    """What a metric says of a set of rows; the signature tells how it was computed."""

    name: str
    value: float
    low: float  # NaN, as `high` is, where no interval was made
    high: float
    signature: str
    digits: int = 1

    def __str__(self) -> str:
        words = f"{self.name} {self.value:.{self.digits}f}"
        return f"{words} ({self.range})" if self.range else words

    @property
    def range(self) -> str:
        """The interval in figures; empty where none was made."""
        if math.isnan(self.low) or math.isnan(self.high):
            return ""
        return f"{self.low:.{self.digits}f}–{self.high:.{self.digits}f}"


def check_rows(one: Sized, other: Sized) -> None:
    """Refuse to compare nothing, or columns that do not belong together."""
    if len(one) != len(other):
        raise DataError(
            f"columns of {len(one)} and {len(other)} rows cannot be compared; "
            "give both the same number of rows"
        )
    if not len(one):
        raise DataError("there are no rows to score; give at least one")


def score_rows(
    statistics: NDArray[np.float64],
    measure: Callable[[NDArray[np.float64]], float],
    *,
    seed: int | None,
) -> tuple[float, float, float]:
    """The measure of the rows' summed statistics, and its 95 % bootstrap interval."""
    value = measure(statistics.sum(axis=0))

    def measure_resample(counts: Counts) -> float:
        return measure(counts @ statistics)

    return value, *interval(value, measure_resample, rows=len(statistics), seed=seed)


def interval(
    value: float, measure: Callable[[Counts], float], *, rows: int, seed: int | None
) -> tuple[float, float]:
    """The 95 % bootstrap interval of a measure that has this value where each row counts once.

    The interval always holds the value. The same seed and number of rows give the same resamples,
    so that metrics and models can be compared pair by pair; without a seed nothing is drawn, and
    both ends are NaN.
    """
    if seed is None:
        return math.nan, math.nan
    generator = np.random.default_rng(key(seed, "bootstrap"))
    drawn = [
        measure(np.bincount(generator.integers(rows, size=rows), minlength=rows))
        for _ in range(RESAMPLES)
    ]
    # Order statistics, not interpolated ones: a measure may be infinite.
    low, high = np.quantile(drawn, INTERVAL, method="nearest")
    return min(value, float(low)), max(value, float(high))
