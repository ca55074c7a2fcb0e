"""Metrics of numeric targets: R², RMSE and MAE."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.fields.numbers import read_number
from seqloom.metrics.metric import METRICS, Direction, SumMetric
from seqloom.metrics.predictions import Predictions

__all__ = ["MeanAbsoluteError", "RSquared", "RootMeanSquaredError"]


class _NumberMetric(SumMetric[Predictions]):
    """Base of metrics of sums over rows: 1, squared and absolute error, reference, squared
    reference.

    References are parsed by their field; a diverged model may output NaN.
    """

    targets = ("number",)
    digits = 3

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """References are centred, so that sums of squares lose fewer digits."""
        references = _numbers(data.references)
        off = np.array(list(map(float, data.outputs))) - references
        centred = references - references.mean()
        parts = [np.ones_like(off), off**2, np.abs(off), centred, centred**2]
        return np.stack(parts, axis=1)


@METRICS.part("R²")
class RSquared(_NumberMetric):
    """R²: 1 − squared error / squared distance from the mean; 0 for predicting it, 1 at best."""

    name = "R²"
    order = 10

    def leads(self, data: Predictions) -> bool:
        """Always."""
        return True

    def combine(self, sums: NDArray[np.float64]) -> float:
        """0 if all references are equal."""
        rows, squared, _, total, squares = sums
        spread = squares - total**2 / rows
        return float(1 - squared / spread) if spread > 0 else 0.0


@METRICS.part("RMSE")
class RootMeanSquaredError(_NumberMetric):
    """Root mean squared error."""

    name = "RMSE"
    direction = Direction.LOWER
    order = 11

    def combine(self, sums: NDArray[np.float64]) -> float:
        """From the sum of squares."""
        return float(np.sqrt(sums[1] / sums[0]))


@METRICS.part("MAE")
class MeanAbsoluteError(_NumberMetric):
    """Mean absolute error."""

    name = "MAE"
    direction = Direction.LOWER
    order = 12

    def combine(self, sums: NDArray[np.float64]) -> float:
        """The mean of absolute errors."""
        return float(sums[2] / sums[0])


def _numbers(references: Sequence[str]) -> NDArray[np.float64]:
    """Parse the references; DataError for the first that is not a number."""
    numbers = np.empty(len(references))
    for row, cell in enumerate(references):
        try:
            numbers[row] = read_number(cell)
        except DataError as error:
            raise DataError(f"row {row + 1}: {error}") from None
    return numbers
