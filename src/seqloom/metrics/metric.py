"""Metrics and the scores they give: a value with its direction and 95 % bootstrap interval (S8).

Bootstrap resamples are counts, how often each row is drawn: a metric is a function of counts.

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
    """Whether higher or lower values of a metric are better."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval; `is_known` is false if none was computed, and then it has no
    bounds.
    """

    low: float
    high: float
    is_known: bool = True

    def describe(self, digits: int) -> str:
        """The interval as text; empty if none was computed."""
        return f"{self.low:.{digits}f}–{self.high:.{digits}f}" if self.is_known else ""

    def as_dict(self) -> dict[str, float]:
        """Plain values for JSON: `low` and `high`, or nothing if no interval was computed."""
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
        """The interval as text; empty if none was computed."""
        return self.interval.describe(self.digits)

    @property
    def objective(self) -> float:
        """The value, negated if lower is better, for maximization."""
        return self.value if self.direction is Direction.HIGHER else -self.value

    def is_better_than(self, other: "Score") -> bool:
        """Whether this value of the same metric is better; a value that is not finite is worst."""
        if not math.isfinite(self.value):
            return False
        return not math.isfinite(other.value) or self.objective > other.objective

    def is_clearly_better_than(self, other: "Score") -> bool:
        """Whether it is better in the digits shown and outside the other's interval."""
        figures, bounds = (
            {f"{each.value:.{each.digits}f}" for each in (self, other)},
            other.interval,
        )
        within = bounds.is_known and bounds.low <= self.value <= bounds.high
        return len(figures) > 1 and not within and self.is_better_than(other)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `low` and `high` only if an interval was computed."""
        return {
            "name": self.name,
            "value": self.value,
            **self.interval.as_dict(),
            "better": self.direction.value,
            "signature": self.signature,
            "digits": self.digits,
        }


def check_rows(one: Sized, other: Sized) -> None:
    """Raise an error if the columns are empty or differ in length."""
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
    """The 95 % bootstrap interval of a measure, whose value on the original rows is given.

    The interval always contains the value. The same seed and number of rows give the same
    resamples, so that metrics and models can be compared pairwise; without a seed there is no
    interval.
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
    """Rows that metrics measure: their kind of target, and the number of units for resampling."""

    @property
    def kind(self) -> str:
        """The kind of target."""

    def __len__(self) -> int: ...


Data = TypeVar("Data", bound=Measurable)
Statistics = NDArray[np.float64]


class Metric(ABC, Generic[Data]):
    """A metric of rows of one or several kinds of target.

    `Data` holds the rows: Predictions (text, label, tags, number), ForecastErrors (series) or
    Likelihoods (language).
    """

    name: ClassVar[str]  # display name; metrics of different kinds of target may share one
    direction: ClassVar[Direction] = Direction.HIGHER
    targets: ClassVar[tuple[str, ...]]  # kinds of target that it applies to
    order: ClassVar[int] = 100  # rank among applicable metrics, the smallest first
    digits: ClassVar[int] = 1  # decimals to show

    def fits(self, data: Data) -> bool:
        """Whether the metric applies to these rows."""
        return True

    def leads(self, data: Data) -> bool:
        """Whether it is the main metric, by which models of such rows are selected."""
        return False

    def signature(self, data: Data) -> str:
        """A short description of how it was computed."""
        return f"rows:{len(data)}"

    @abstractmethod
    def measure(self, data: Data) -> Callable[[Counts], float]:
        """The value as a function of the rows' counts."""

    def score(self, data: Data, *, seed: int | None = 1) -> Score:
        """The value with its 95 % bootstrap interval, or without one if there is no seed."""
        measure = self.measure(data)
        value = measure(np.ones(len(data), np.int64))
        interval = bootstrap_interval(value, measure, rows=len(data), seed=seed)
        return Score(self.name, value, interval, self.signature(data), self.direction, self.digits)


class SumMetric(Metric[Data]):
    """A metric computed from statistics that are summed over rows."""

    @abstractmethod
    def statistics(self, data: Data) -> Statistics:
        """The statistics of each row, (rows, K)."""

    @abstractmethod
    def combine(self, sums: Statistics) -> float:
        """The value from the K sums."""

    def measure(self, data: Data) -> Callable[[Counts], float]:
        """The value as a function of the rows' weighted sums."""
        statistics = self.statistics(data)
        return lambda counts: self.combine(counts @ statistics)


METRICS: Family[Any, type[Metric[Any]]] = Family("metric", home="seqloom.metrics")


def metrics_for(data: Measurable) -> list[Metric[Any]]:
    """The registered metrics that apply to these rows, the main one first."""
    known = (part() for part in METRICS.parts.values())
    fitting = [each for each in known if data.kind in each.targets and each.fits(data)]
    return sorted(fitting, key=lambda each: (not each.leads(data), each.order))


def score_all(data: Measurable, *, seed: int | None = 1) -> list[Score]:
    """The scores of all applicable metrics, the main one first; without intervals if there is no
    seed.
    """
    return [metric.score(data, seed=seed) for metric in metrics_for(data)]


def lower_is_better(name: str) -> bool:
    """Whether lower values of the metric with this display name are better."""
    parts = METRICS.parts.values()
    return any(each.name == name and each.direction is Direction.LOWER for each in parts)


def baseline_ahead(
    own: Mapping[str, float],
    baselines: Mapping[str, Sequence[Score]],
    advice: str,
    *,
    intervals: Mapping[str, Interval],
) -> str:
    """A sentence that names the best baseline clearly ahead of a model, with advice; empty if none
    is. Each baseline is compared by the first of its scores that the model has too; `intervals` are
    the model's, where known.
    """
    ahead: list[tuple[str, Score]] = []
    for name, scores in baselines.items():
        first = next((score for score in scores if score.name in own), None)
        if first is None:
            continue
        interval = intervals.get(first.name, NO_INTERVAL)
        if first.is_clearly_better_than(replace(first, value=own[first.name], interval=interval)):
            ahead.append((name, first))
    if not ahead:
        return ""
    name, best = max(ahead, key=lambda each: each[1].objective)
    return (
        f"the baseline '{name}' is ahead: {best.name} {best.value:.{best.digits}f} against "
        f"{own[best.name]:.{best.digits}f}; {advice}"
    )
