"""Labels against labels: accuracy and F1, for whole rows and for tags (S8).

Labels of the references that a model has never seen count as any other: they are errors.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.metric import METRICS, Counts, Metric, Score, SumMetric, bootstrap_interval
from seqloom.metrics.predictions import Predictions

__all__ = ["Accuracy", "MacroF1", "WeightedF1", "WholeRows", "accuracy_from_counts"]


@METRICS.part("accuracy")
class Accuracy(SumMetric[Predictions]):
    """Per cent of labels or tags that are right, over all rows."""

    name = "accuracy"
    targets: ClassVar[tuple[str, ...]] = ("label", "tags")
    order = 10

    def leads(self, data: Predictions) -> bool:
        """All but tags that mark spans: most of those are usually O."""
        return not data.scheme.marks_spans

    def signature(self, data: Predictions) -> str:
        """The numbers of rows and tags."""
        tags = f"|tags:{sum(len(row) for _, row in data.tags)}" if data.kind == "tags" else ""
        return f"rows:{len(data)}{tags}"

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Labels that are right, and all, of each row."""
        return data.right_counts

    def combine(self, sums: NDArray[np.float64]) -> float:
        """The share."""
        return 100 * float(sums[0] / sums[1])


@METRICS.part("whole rows")
class WholeRows(Accuracy):
    """Per cent of rows whose tags are all right."""

    name = "whole rows"
    targets = ("tags",)
    order = 13

    def leads(self, data: Predictions) -> bool:
        """Never."""
        return False

    def signature(self, data: Predictions) -> str:
        """The number of rows."""
        return f"rows:{len(data)}"

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Whether a row is right."""
        return np.array([(output == reference, 1) for output, reference in data.tags], np.float64)


@METRICS.part("macro F1")
class MacroF1(Metric[Predictions]):
    """The mean over the references' classes of 2 × right / (predicted + expected), in per cent."""

    name = "macro F1"
    targets: ClassVar[tuple[str, ...]] = ("label", "tags")
    order = 11

    def measure(self, data: Predictions) -> Callable[[Counts], float]:
        """From the F1 and the support of each class."""
        counts = data.class_counts
        return lambda rows: 100 * self.average(*counts.f1(rows))

    def average(self, f1: NDArray[np.float64], support: NDArray[np.float64]) -> float:
        """Every class alike."""
        return float(f1.mean())

    def signature(self, data: Predictions) -> str:
        """The number of classes."""
        return f"kinds:{len(data.class_counts.names)}"


@METRICS.part("weighted F1")
class WeightedF1(MacroF1):
    """The same mean with each class by its support."""

    name = "weighted F1"
    targets = ("label",)
    order = 12

    def average(self, f1: NDArray[np.float64], support: NDArray[np.float64]) -> float:
        """Each class as often as it comes."""
        return float(np.average(f1, weights=support))


def accuracy_from_counts(rows: NDArray[np.float64], *, what: str, seed: int | None = 1) -> Score:
    """Per cent of what was asked for that is right, from (right, asked) of each row."""

    def measure(counts: Counts) -> float:
        right, asked = counts @ rows
        return 100 * float(right / asked)

    value = measure(np.ones(len(rows), np.int64))
    signature = f"rows:{len(rows)}|{what}:{int(rows[:, 1].sum())}"
    interval = bootstrap_interval(value, measure, rows=len(rows), seed=seed)
    return Score("accuracy", value, interval, signature)
