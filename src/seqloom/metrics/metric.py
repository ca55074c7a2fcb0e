"""What a metric is, the family of all metrics, and the choice among them (S8).

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

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.predictions import Predictions
from seqloom.metrics.score import Counts, Direction, Score, bootstrap_interval
from seqloom.registry import Family

__all__ = [
    "METRICS",
    "Measurable",
    "Metric",
    "SumMetric",
    "lower_is_better",
    "metrics_for",
    "score_all",
    "target_scores",
]


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


def target_scores(
    kind: str,
    outputs: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    seed: int | None = 1,
) -> list[Score]:
    """The same for outputs and references of this kind of target as written."""
    return score_all(Predictions(kind, outputs, references, lowercase), seed=seed)


def lower_is_better(name: str) -> bool:
    """Whether smaller values of the metric that is shown under this name are better."""
    parts = METRICS.parts.values()
    return any(each.name == name and each.direction is Direction.LOWER for each in parts)
