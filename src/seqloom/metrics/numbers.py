"""Numbers against numbers: how much of their spread is explained, and how far off they are."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.fields.numbers import read_number
from seqloom.metrics.score import Score, check_rows, score_rows

__all__ = ["number_scores"]


def number_scores(
    outputs: Sequence[str], references: Sequence[str], *, seed: int | None = 1
) -> list[Score]:
    """R², the root of the mean squared error and the mean absolute error, on the same resamples.

    References are read as their field reads them; a model that diverges may put out NaN.
    """
    check_rows(outputs, references)
    found, wanted = np.array(list(map(float, outputs))), _numbers(references)
    middle = wanted.mean()  # sums of squares lose fewer digits around it
    off = found - wanted
    ones = np.ones_like(off)
    sums = np.stack([ones, off**2, np.abs(off), wanted - middle, (wanted - middle) ** 2], axis=1)
    measures = {"R²": _r_squared, "RMSE": _rmse, "MAE": _mae}
    return [
        Score(name, *score_rows(sums, measure, seed=seed), f"rows:{len(off)}", digits=3)
        for name, measure in measures.items()
    ]


def _numbers(references: Sequence[str]) -> NDArray[np.float64]:
    """The references' numbers; DataError with the first row that has none."""
    numbers = np.empty(len(references))
    for row, cell in enumerate(references):
        try:
            numbers[row] = read_number(cell)
        except DataError as error:
            raise DataError(f"row {row + 1}: {error}") from None
    return numbers


def _r_squared(sums: NDArray[np.float64]) -> float:
    """1 − squared error / spread around the mean; 0 for guessing the mean, 1 at best."""
    rows, squared, _, total, squares = sums
    spread = squares - total**2 / rows
    return float(1 - squared / spread) if spread > 0 else 0.0


def _rmse(sums: NDArray[np.float64]) -> float:
    return float(np.sqrt(sums[1] / sums[0]))


def _mae(sums: NDArray[np.float64]) -> float:
    return float(sums[2] / sums[0])
