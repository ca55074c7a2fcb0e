"""A metric's value with its direction and its 95 % bootstrap interval.

A resample is a count for each row, how often it is drawn: a metric is a function of such counts.
"""

import math
from collections.abc import Callable, Sized
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.randomness import key

__all__ = [
    "NO_INTERVAL",
    "Counts",
    "Direction",
    "Interval",
    "Score",
    "bootstrap_interval",
    "check_rows",
]

Counts = NDArray[np.int64]
"""How often each row counts."""
RESAMPLES = 1_000
INTERVAL = (0.025, 0.975)


class Direction(StrEnum):
    """Which values of a metric are better."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class Interval:
    """A 95 % interval; `is_known` is false where none was computed, and then it has no bounds."""

    low: float
    high: float
    is_known: bool = True

    def describe(self, digits: int) -> str:
        """The interval in figures; empty where none was computed."""
        return f"{self.low:.{digits}f}–{self.high:.{digits}f}" if self.is_known else ""

    def as_dict(self) -> dict[str, float]:
        """Plain values for JSON: `low` and `high`, or nothing where none was computed."""
        return {"low": self.low, "high": self.high} if self.is_known else {}


NO_INTERVAL = Interval(-math.inf, math.inf, is_known=False)


@dataclass(frozen=True)
class Score:
    """The value of a metric on a set of rows; the signature tells how it was computed."""

    name: str
    value: float
    interval: Interval
    signature: str
    direction: Direction = Direction.HIGHER
    digits: int = 1

    def __str__(self) -> str:
        words = f"{self.name} {self.value:.{self.digits}f}"
        return f"{words} ({self.range})" if self.range else words

    @property
    def range(self) -> str:
        """The interval in figures; empty where none was computed."""
        return self.interval.describe(self.digits)

    @property
    def objective(self) -> float:
        """The value, negated where lower is better: what selects the best of several."""
        return self.value if self.direction is Direction.HIGHER else -self.value

    def is_better_than(self, other: "Score") -> bool:
        """Whether this value of the same metric is the better one."""
        return self.objective > other.objective

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `low` and `high` only where there is an interval."""
        return {
            "name": self.name,
            "value": self.value,
            **self.interval.as_dict(),
            "better": self.direction.value,
            "signature": self.signature,
            "digits": self.digits,
        }


def check_rows(one: Sized, other: Sized) -> None:
    """Refuse to compare nothing, or columns that do not belong together."""
    if len(one) != len(other):
        raise DataError(
            f"columns of {len(one)} and {len(other)} rows cannot be compared",
            remedy="give both the same number of rows",
        )
    if not len(one):
        raise DataError("there are no rows to score", remedy="give at least one")


def bootstrap_interval(
    value: float, measure: Callable[[Counts], float], *, rows: int, seed: int | None
) -> Interval:
    """The 95 % bootstrap interval of a measure that has this value where each row counts once.

    The interval always holds the value. The same seed and number of rows give the same resamples,
    so that metrics and models can be compared pair by pair; without a seed there is no interval.
    """
    if seed is None:
        return NO_INTERVAL
    generator = np.random.default_rng(key(seed, "bootstrap"))
    resampled = [
        measure(np.bincount(generator.integers(rows, size=rows), minlength=rows))
        for _ in range(RESAMPLES)
    ]
    # Order statistics, not interpolated ones: a measure may be infinite.
    low, high = np.quantile(resampled, INTERVAL, method="nearest")
    return Interval(min(value, float(low)), max(value, float(high)))
