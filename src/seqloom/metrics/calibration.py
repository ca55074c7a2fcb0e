"""Whether probabilities mean what they say (Naeini et al. 2015, "Obtaining Well Calibrated
Probabilities Using Bayesian Binning"; Guo et al. 2017, "On Calibration of Modern Neural Networks").
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
BAR = 20  # cells of a bar in a terminal
PRIOR = 0.5  # standard deviation of the logarithm of a temperature before anything is measured
WIDEST = 3.0  # of that logarithm
STEPS = 40  # of the search for it

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reliability(Displayed):
    """Outputs by their confidence, in bins of equal width: (low, high], the first from 0.

    `counts` are outputs in a bin; `confidences` and `accuracies` are means from 0 to 1, and 0 in an
    empty bin.
    """

    edges: Floats  # (bins + 1,)
    counts: Floats
    confidences: Floats
    accuracies: Floats

    @classmethod
    def of(cls, data: Predictions, *, bins: int = BINS) -> Self:
        """Of labels or tags with their confidences."""
        return cls.from_sums(_bin_sums(data, bins).sum(axis=0))

    @classmethod
    def from_sums(cls, sums: Floats) -> Self:
        """From counts, confidences and right outputs summed in each bin, one after another."""
        counts, confidences, right = sums.reshape(3, -1)
        filled = np.maximum(counts, 1)
        edges = np.linspace(0, 1, len(counts) + 1)
        return cls(edges, counts, confidences / filled, right / filled)

    @property
    def expected_error(self) -> float:
        """Expected calibration error, from 0 to 1: the mean over outputs of how far the confidence
        of their bin is from its accuracy."""
        gaps = np.abs(self.confidences - self.accuracies)
        return float(self.counts @ gaps / max(1.0, self.counts.sum()))

    @property
    def largest_error(self) -> float:
        """The same of the worst bin."""
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
        """A line for each bin that has outputs."""
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
    """What to divide the scores (N, V) of N outputs by, so that their softmax is likeliest for the
    right labels (N,) (Guo et al. 2017, temperature scaling).

    A prior around 1 keeps few outputs, or outputs that are all right, from certainty.
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
    """(rows, 3 × bins): counts, confidences and right outputs of each row in each bin."""
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
    """Expected calibration error in per cent; fits where confidences are given."""

    name = "calibration error"
    direction = Direction.LOWER
    targets = ("label", "tags")
    order = 40

    def fits(self, data: Predictions) -> bool:
        """Outputs with confidences."""
        return bool(data.confidences)

    def signature(self, data: Predictions) -> str:
        """The number of bins."""
        return f"rows:{len(data)}|bins:{BINS}"

    def statistics(self, data: Predictions) -> Floats:
        """Counts, confidences and right outputs by bin."""
        return _bin_sums(data, BINS)

    def combine(self, sums: Floats) -> float:
        """In per cent."""
        return 100 * Reliability.from_sums(sums).expected_error
