"""Forecasts that need no training to speak of, beside which a model has to stand."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = ["linear_forecast", "ridge", "seasonal_naive"]

PENALTY = 1e-4  # of the ridge, as a share of the mean square of what is read
MOST = 20_000  # windows of a column that the ridge is fitted to

Table = NDArray[np.float64]


def seasonal_naive(past: NDArray[np.floating], season: int, horizon: int) -> NDArray[np.floating]:
    """What was one season ago, of pasts (N, S, C), over and over."""
    season = min(season, past.shape[1])
    last = past[:, past.shape[1] - season :]
    return last[:, np.arange(horizon) % season]


def ridge(table: Table, window: int, horizon: int) -> NDArray[np.float32]:
    """The linear map (window, horizon) with the least squared error, in closed form.

    It takes a window of one column less its last value to what follows, less the same; one map
    serves all columns. Windows with missing rows are left out.
    """
    square, product = np.zeros((window, window)), np.zeros((window, horizon))
    for column in table.T:
        spans = sliding_window_view(column, window + horizon)
        spans = spans[np.isfinite(spans).all(axis=1)]
        spans = spans[:: max(1, -(-len(spans) // MOST))]
        levelled = spans - spans[:, window - 1 : window]
        square += levelled[:, :window].T @ levelled[:, :window]
        product += levelled[:, :window].T @ levelled[:, window:]
    penalty = max(PENALTY * float(np.trace(square)) / window, 1e-9)
    found = np.linalg.solve(square + penalty * np.eye(window), product)
    return found.astype(np.float32)


def linear_forecast(
    past: NDArray[np.floating], linear: NDArray[np.float32]
) -> NDArray[np.floating]:
    """The forecast of pasts (N, S, C) by such a map."""
    last = past[:, -1:]
    levelled = (past - last)[:, past.shape[1] - len(linear) :]
    forecast: NDArray[np.floating] = np.einsum("nsc,st->ntc", levelled, linear) + last
    return forecast
