"""Forecasts against what came: squared and absolute errors in units of the training spread."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.score import Score, check_rows, score_rows

__all__ = ["Errors", "error_scores", "forecast_errors"]

Errors = NDArray[np.float64]
"""(N, C, 3): of each window and column, means over the steps of the squared and the absolute error
and of the square of what came."""


def forecast_errors(found: NDArray[np.floating], wanted: NDArray[np.floating]) -> Errors:
    """The errors of forecasts (N, T, C) of standardised numbers."""
    check_rows(found, wanted)
    off = np.asarray(found, np.float64) - wanted
    parts = (np.square(off), np.abs(off), np.square(np.asarray(wanted, np.float64)))
    return np.stack([part.mean(axis=1) for part in parts], axis=2)


def error_scores(errors: Errors, *, block: int, seed: int | None = 1) -> list[Score]:
    """MSE, MAE and R² over all columns, standardised: R² is 0 for the training mean, 1 at best.

    Windows overlap, so `block` of them that follow one another are drawn together.
    """
    rows = errors.mean(axis=1)
    starts = np.arange(0, len(rows), block)
    sums = np.add.reduceat(rows, starts)
    counts = np.diff(np.append(starts, len(rows))).astype(np.float64)
    statistics = np.concatenate([sums, counts[:, None]], axis=1)
    signature = f"standardised|windows:{len(rows)}|blocks of {block}"
    measures: dict[str, Callable[[NDArray[np.float64]], float]] = {
        "MSE": lambda total: float(total[0] / total[3]),
        "MAE": lambda total: float(total[1] / total[3]),
        "R²": lambda total: float(1 - total[0] / total[2]) if total[2] > 0 else 0.0,
    }
    return [
        Score(name, *score_rows(statistics, measure, seed=seed), signature, digits=4)
        for name, measure in measures.items()
    ]
