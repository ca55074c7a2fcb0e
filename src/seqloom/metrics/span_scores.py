"""Spans of tags against spans: precision, recall and F1 over all of them, by seqeval's rules."""

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.metric import METRICS, SumMetric
from seqloom.metrics.predictions import Predictions

__all__ = ["SpanF1", "SpanPrecision", "SpanRecall"]


class _SpanMetric(SumMetric[Predictions]):
    """In per cent; a span is right where its type, its start and its end are."""

    targets = ("tags",)

    def fits(self, data: Predictions) -> bool:
        """Tags that mark spans."""
        return data.scheme.marks_spans

    def signature(self, data: Predictions) -> str:
        """The scheme, how it was read, and the number of spans."""
        return f"scheme:{data.scheme.value}|lenient|spans:{int(data.span_counts[:, 2].sum())}"

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Spans that are right, in the output, and in the reference."""
        return data.span_counts


@METRICS.part("span F1")
class SpanF1(_SpanMetric):
    """The harmonic mean of precision and recall."""

    name = "span F1"
    order = 5

    def leads(self, data: Predictions) -> bool:
        """Wherever tags mark spans."""
        return True

    def combine(self, sums: NDArray[np.float64]) -> float:
        """2 × right / (found + expected); 0 where there is none of either."""
        right, found, expected = sums
        return 200 * float(right / (found + expected)) if found + expected else 0.0


@METRICS.part("span precision")
class SpanPrecision(_SpanMetric):
    """The share of spans in outputs that are right."""

    name = "span precision"
    order = 6

    def combine(self, sums: NDArray[np.float64]) -> float:
        """Right / found; 0 where none is found."""
        return 100 * float(sums[0] / sums[1]) if sums[1] else 0.0


@METRICS.part("span recall")
class SpanRecall(_SpanMetric):
    """The share of spans in references that are found."""

    name = "span recall"
    order = 7

    def combine(self, sums: NDArray[np.float64]) -> float:
        """Right / expected; 0 where none is expected."""
        return 100 * float(sums[0] / sums[2]) if sums[2] else 0.0
