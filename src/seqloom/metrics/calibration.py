"""Calibration of confidences (Naeini et al. 2015, "Obtaining Well Calibrated Probabilities Using
Bayesian Binning"; Guo et al. 2017, "On Calibration of Modern Neural Networks").
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.display import Displayed
from seqloom.errors import DataError
from seqloom.metrics.metric import METRICS, Direction, SumMetric
from seqloom.metrics.predictions import Predictions

__all__ = ["CalibrationError", "Reliability", "fit_temperature"]

BINS = 15
BAR = 20  # width of a bar in a terminal, in cells
PRIOR = 0.5  # standard deviation of the prior of a log temperature
WIDEST = 3.0  # bound of the log temperature
STEPS = 40  # iterations of the search

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reliability(Displayed):
    """A reliability diagram: outputs by confidence, in bins of equal width (low, high], the first
    from 0.

    `counts` are the outputs of each bin; `confidences` and `accuracies` are their means from 0 to
    1, and 0 in an empty bin.
    """

    edges: Floats  # (bins + 1,)
    counts: Floats
    confidences: Floats
    accuracies: Floats

    @classmethod
    def of(cls, data: Predictions, *, bins: int = BINS) -> Self:
        """Compute the diagram of labels or tags with confidences."""
        return cls.from_sums(_bin_sums(data, bins).sum(axis=0))

    @classmethod
    def from_sums(cls, sums: Floats) -> Self:
        """Compute the diagram from counts, confidences and correct outputs, each summed by bin."""
        counts, confidences, right = sums.reshape(3, -1)
        filled = np.maximum(counts, 1)
        edges = np.linspace(0, 1, len(counts) + 1)
        return cls(edges, counts, confidences / filled, right / filled)

    @property
    def expected_error(self) -> float:
        """Expected calibration error, from 0 to 1: the mean over outputs of the distance between
        the confidence and the accuracy of their bin.
        """
        gaps = np.abs(self.confidences - self.accuracies)
        return float(self.counts @ gaps / max(1.0, self.counts.sum()))

    @property
    def largest_error(self) -> float:
        """Maximum calibration error, from 0 to 1: that of the worst bin."""
        return float(np.abs(self.confidences - self.accuracies).max())

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "expected_calibration_error": self.expected_error,
            "edges": self.edges.tolist(),
            "counts": self.counts.astype(int).tolist(),
            "confidences": self.confidences.tolist(),
            "accuracies": self.accuracies.tolist(),
        }

    def text(self, width: int = 80) -> str:
        """Render a line for each bin that is not empty."""
        lines = ["confidence     mean   right  outputs"]
        bar = max(0, min(BAR, width - 40))
        for number in np.flatnonzero(self.counts):
            low, high = 100 * self.edges[number], 100 * self.edges[number + 1]
            right = self.accuracies[number]
            lines.append(
                f"{low:>3.0f}–{high:>3.0f} %  {100 * self.confidences[number]:>6.1f}  "
                f"{100 * right:>6.1f}  {int(self.counts[number]):>7,}  {'█' * round(bar * right)}"
            )
        return "\n".join([*lines, f"expected calibration error {100 * self.expected_error:.1f} %"])


def fit_temperature(scores: Floats, labels: NDArray[np.integer]) -> float:
    """Fit the temperature by which to divide the scores (N, V) of N outputs, by maximum likelihood
    of the correct labels (N,) (Guo et al. 2017, temperature scaling).

    A prior around 1 keeps the temperature away from 0 where outputs are few or all correct.
    """
    if not len(scores):
        return 1.0
    scores = scores - scores.max(axis=1, keepdims=True)
    right = scores[np.arange(len(labels)), labels]

    def cost(log_temperature: float) -> float:
        factor = np.exp(-log_temperature)
        total = np.log(np.exp(factor * scores).sum(axis=1)) - factor * right
        return float(total.sum() + (log_temperature / PRIOR) ** 2 / 2)

    low, high = -WIDEST, WIDEST
    for _ in range(STEPS):
        first, second = low + (high - low) * 0.382, low + (high - low) * 0.618
        low, high = (low, second) if cost(first) <= cost(second) else (first, high)
    return float(np.exp((low + high) / 2))


def _bin_sums(data: Predictions, bins: int) -> Floats:
    """Sums (rows, 3 × bins) of each row: counts, confidences and correct outputs by bin."""
    lengths = [len(reference) for _, reference in data.labels]
    for number, (length, found) in enumerate(zip(lengths, data.confidences, strict=True), 1):
        if length != len(found):
            raise DataError(
                f"row {number}: {len(found)} confidences do not fit {length} outputs",
                remedy="give one each",
            )
    rows = np.repeat(np.arange(len(data)), lengths)
    sure = np.array([value for row in data.confidences for value in row], np.float64)
    if not ((sure >= 0) & (sure <= 1)).all():
        raise DataError("confidences are probabilities", remedy="give numbers from 0 to 1")
    right = np.array([o == r for row in data.labels for o, r in zip(*row, strict=True)], np.float64)
    places = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], sure)
    sums = np.zeros((3, len(data) * bins))
    for part, values in enumerate((np.ones_like(sure), sure, right)):
        sums[part] = np.bincount(rows * bins + places, values, minlength=len(data) * bins)
    return sums.reshape(3, len(data), bins).transpose(1, 0, 2).reshape(len(data), 3 * bins)


@METRICS.part("calibration error")
class CalibrationError(SumMetric[Predictions]):
    """Expected calibration error in per cent; applies to outputs with confidences."""

    name = "calibration error"
    direction = Direction.LOWER
    targets = ("label", "tags")
    order = 40

    def fits(self, data: Predictions) -> bool:
        """Whether the outputs have confidences."""
        return bool(data.confidences)

    def signature(self, data: Predictions) -> str:
        """The number of bins."""
        return f"rows:{len(data)}|bins:{BINS}"

    def statistics(self, data: Predictions) -> Floats:
        """Counts, confidences and correct outputs of each row, by bin."""
        return _bin_sums(data, BINS)

    def combine(self, sums: Floats) -> float:
        """The error in per cent."""
        return 100 * Reliability.from_sums(sums).expected_error
