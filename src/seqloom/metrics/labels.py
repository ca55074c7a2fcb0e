"""Metrics of labels and tags: accuracy and F1 (S8).

Labels that are absent from the training data count like others: they are errors.
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
    """Percentage of correct labels or tags, over all rows."""

    name = "accuracy"
    targets: ClassVar[tuple[str, ...]] = ("label", "tags")
    order = 10

    def leads(self, data: Predictions) -> bool:
        """True except for tags that mark spans: most of those are usually O."""
        return not data.scheme.marks_spans

    def signature(self, data: Predictions) -> str:
        """The numbers of rows and tags."""
        tags = f"|tags:{sum(len(row) for _, row in data.tags)}" if data.kind == "tags" else ""
        return f"rows:{len(data)}{tags}"

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Correct labels and all labels of each row."""
        return data.right_counts

    def combine(self, sums: NDArray[np.float64]) -> float:
        """The share."""
        return 100 * float(sums[0] / sums[1])


@METRICS.part("whole rows")
class WholeRows(Accuracy):
    """Percentage of rows whose tags are all correct."""

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
        """1 for each row that is correct, else 0."""
        return np.array([(output == reference, 1) for output, reference in data.tags], np.float64)


@METRICS.part("macro F1")
class MacroF1(Metric[Predictions]):
    """Macro F1 in per cent: the mean over the references' classes of 2 × correct / (predicted +
    expected).
    """

    name = "macro F1"
    targets: ClassVar[tuple[str, ...]] = ("label", "tags")
    order = 11

    def measure(self, data: Predictions) -> Callable[[Counts], float]:
        """The weighted F1 and support of each class."""
        counts = data.class_counts
        return lambda rows: 100 * self.average(*counts.f1(rows))

    def average(self, f1: NDArray[np.float64], support: NDArray[np.float64]) -> float:
        """The unweighted mean."""
        return float(f1.mean())

    def signature(self, data: Predictions) -> str:
        """The number of classes."""
        return f"kinds:{len(data.class_counts.names)}"


@METRICS.part("weighted F1")
class WeightedF1(MacroF1):
    """Weighted F1 in per cent: the mean over the references' classes, weighted by support."""

    name = "weighted F1"
    targets = ("label",)
    order = 12

    def average(self, f1: NDArray[np.float64], support: NDArray[np.float64]) -> float:
        """The mean weighted by support."""
        return float(np.average(f1, weights=support))


def accuracy_from_counts(rows: NDArray[np.float64], *, what: str, seed: int | None = 1) -> Score:
    """Accuracy in per cent from (correct, asked) of each row."""

    def measure(counts: Counts) -> float:
        right, asked = counts @ rows
        return 100 * float(right / asked)

    value = measure(np.ones(len(rows), np.int64))
    signature = f"rows:{len(rows)}|{what}:{int(rows[:, 1].sum())}"
    interval = bootstrap_interval(value, measure, rows=len(rows), seed=seed)
    return Score("accuracy", value, interval, signature)
