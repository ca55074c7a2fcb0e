"""Metrics of spans: precision, recall and F1, by seqeval's rules."""

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.metric import METRICS, SumMetric
from seqloom.metrics.predictions import Predictions

__all__ = ["SpanF1", "SpanPrecision", "SpanRecall"]


class _SpanMetric(SumMetric[Predictions]):
    """Base of metrics of spans in per cent; a span is correct if its type, start and end are."""

    targets = ("tags",)

    def fits(self, data: Predictions) -> bool:
        """Whether the tags mark spans."""
        return data.scheme.marks_spans

    def signature(self, data: Predictions) -> str:
        """The scheme, the mode of reading, and the number of spans."""
        return f"scheme:{data.scheme.value}|lenient|spans:{int(data.span_counts[:, 2].sum())}"

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Correct, predicted and expected spans of each row."""
        return data.span_counts


@METRICS.part("span F1")
class SpanF1(_SpanMetric):
    """The harmonic mean of precision and recall."""

    name = "span F1"
    order = 5

    def leads(self, data: Predictions) -> bool:
        """True wherever tags mark spans."""
        return True

    def combine(self, sums: NDArray[np.float64]) -> float:
        """2 × correct / (predicted + expected); 0 if there are no spans."""
        right, found, expected = sums
        return 200 * float(right / (found + expected)) if found + expected else 0.0


@METRICS.part("span precision")
class SpanPrecision(_SpanMetric):
    """The share of predicted spans that are correct."""

    name = "span precision"
    order = 6

    def combine(self, sums: NDArray[np.float64]) -> float:
        """Correct / predicted; 0 if none is predicted."""
        return 100 * float(sums[0] / sums[1]) if sums[1] else 0.0


@METRICS.part("span recall")
class SpanRecall(_SpanMetric):
    """The share of expected spans that are predicted."""

    name = "span recall"
    order = 7

    def combine(self, sums: NDArray[np.float64]) -> float:
        """Correct / expected; 0 if none is expected."""
        return 100 * float(sums[0] / sums[2]) if sums[2] else 0.0
