"""Metrics and the scores they give: a value with its direction and 95 % bootstrap interval (S8).

A resample is a count for each row, how often it is drawn: a metric is a function of such counts.

A new metric is a class in a file of its own, registered under its name:

    @METRICS.part("length ratio")
    class LengthRatio(SumMetric[Predictions]):
        name = "length ratio"
        targets = ("text",)

        def statistics(self, data):  # a row of numbers for each output
            return np.array([(len(o), len(r)) for o, r in data.pairs], np.float64)

        def combine(self, sums):  # the value, from their sums over all rows
            return 100 * float(sums[0] / sums[1])
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.randomness import key
from seqloom.registry import Family

__all__ = [
    "METRICS",
    "NO_INTERVAL",
    "Counts",
    "Direction",
    "Interval",
    "Measurable",
    "Metric",
    "Score",
    "SumMetric",
    "baseline_ahead",
    "bootstrap_interval",
    "check_rows",
    "lower_is_better",
    "metrics_for",
    "score_all",
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


class Measurable(Protocol):
    """Rows that metrics measure: the kind of target they are of, and how many can be resampled."""

    @property
    def kind(self) -> str:
        """The kind of target."""

    def __len__(self) -> int: ...


Data = TypeVar("Data", bound=Measurable)
Statistics = NDArray[np.float64]


class Metric(ABC, Generic[Data]):
    """One way to measure rows of one or several kinds of target.

    `Data` holds the rows: Predictions (text, label, tags, number), ForecastErrors (series) or
    Likelihoods (language).
    """

    name: ClassVar[str]  # as it is shown; kinds of targets may have metrics of one name
    direction: ClassVar[Direction] = Direction.HIGHER
    targets: ClassVar[tuple[str, ...]]  # kinds of target that it measures
    order: ClassVar[int] = 100  # place among those that fit, the smallest first
    digits: ClassVar[int] = 1  # decimals worth showing

    def fits(self, data: Data) -> bool:
        """Whether it says something about these rows."""
        return True

    def leads(self, data: Data) -> bool:
        """Whether it is the one that models of such rows are selected by."""
        return False

    def signature(self, data: Data) -> str:
        """How it was computed, in a few words."""
        return f"rows:{len(data)}"

    @abstractmethod
    def measure(self, data: Data) -> Callable[[Counts], float]:
        """The value as a function of how often each row counts."""

    def score(self, data: Data, *, seed: int | None = 1) -> Score:
        """The value with its 95 % bootstrap interval; no interval without a seed."""
        measure = self.measure(data)
        value = measure(np.ones(len(data), np.int64))
        interval = bootstrap_interval(value, measure, rows=len(data), seed=seed)
        return Score(self.name, value, interval, self.signature(data), self.direction, self.digits)


class SumMetric(Metric[Data]):
    """A metric that is a function of statistics summed over rows."""

    @abstractmethod
    def statistics(self, data: Data) -> Statistics:
        """(rows, K): the numbers that each row adds."""

    @abstractmethod
    def combine(self, sums: Statistics) -> float:
        """The value, from the K sums."""

    def measure(self, data: Data) -> Callable[[Counts], float]:
        """The value of the rows' weighted sums."""
        statistics = self.statistics(data)
        return lambda counts: self.combine(counts @ statistics)


METRICS: Family[Any, type[Metric[Any]]] = Family("metric", home="seqloom.metrics")


def metrics_for(data: Measurable) -> list[Metric[Any]]:
    """The registered metrics that fit these rows, the leading one first."""
    known = (part() for part in METRICS.parts.values())
    fitting = [each for each in known if data.kind in each.targets and each.fits(data)]
    return sorted(fitting, key=lambda each: (not each.leads(data), each.order))


def score_all(data: Measurable, *, seed: int | None = 1) -> list[Score]:
    """The scores of all metrics that fit, the leading one first; no intervals without a seed."""
    return [metric.score(data, seed=seed) for metric in metrics_for(data)]


def lower_is_better(name: str) -> bool:
    """Whether smaller values of the metric that is shown under this name are better."""
    parts = METRICS.parts.values()
    return any(each.name == name and each.direction is Direction.LOWER for each in parts)


def baseline_ahead(own: Mapping[str, float], baselines: Mapping[str, Sequence[Score]]) -> str:
    """A sentence that names the best baseline that is ahead of a model and what to try; empty where
    none is. Each is compared by the first of its scores that the model has too."""
    ahead: list[tuple[str, Score]] = []
    for name, scores in baselines.items():
        first = next((score for score in scores if score.name in own), None)
        if first is not None and first.is_better_than(replace(first, value=own[first.name])):
            ahead.append((name, first))
    if not ahead:
        return ""
    name, best = max(ahead, key=lambda each: each[1].objective)
    return (
        f"the baseline '{name}' is ahead: {best.name} {best.value:.{best.digits}f} against "
        f"{own[best.name]:.{best.digits}f}; give more rows, train longer (training.updates), try "
        "another preset, or use the baseline"
    )
