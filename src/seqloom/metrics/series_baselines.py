"""Baseline forecasts: seasonal naive, and ridge regression in closed form."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = ["linear_forecast", "ridge", "ridge_path", "seasonal_naive"]

PENALTY = 1e-4  # ridge penalty, as a share of the inputs' mean square
MOST = 20_000  # windows of a column to which the ridge regression is fitted

Table = NDArray[np.float64]


def seasonal_naive(past: NDArray[np.floating], season: int, horizon: int) -> NDArray[np.floating]:
    """Repeat the last season of pasts (N, S, C)."""
    season = min(season, past.shape[1])
    last = past[:, past.shape[1] - season :]
    return last[:, np.arange(horizon) % season]


def ridge(table: Table, window: int, horizon: int) -> NDArray[np.float32]:
    """Ridge regression from windows to horizons: a linear map (window, horizon), in closed form.

    Inputs and outputs are relative to the window's last value; all columns share the map. Windows
    with missing rows are left out.
    """
    (found,) = ridge_path(_column_spans(table, window + horizon), window, (PENALTY,))
    return found


def ridge_path(
    spans: Iterable[NDArray[np.floating]], window: int, penalties: Sequence[float]
) -> list[NDArray[np.float32]]:
    """Ridge regression for each penalty, from spans (N, window + horizon) of single columns."""
    square: Any = 0.0
    product: Any = 0.0
    for span in spans:
        levelled = np.asarray(span - span[:, window - 1 : window], np.float64)
        square = square + levelled[:, :window].T @ levelled[:, :window]
        product = product + levelled[:, :window].T @ levelled[:, window:]
    values, vectors = np.linalg.eigh(square)
    turned, scale = vectors.T @ product, float(np.trace(square)) / window
    return [
        (vectors @ (turned / (values + max(each * scale, 1e-9))[:, None])).astype(np.float32)
        for each in penalties
    ]


def _column_spans(table: Table, length: int) -> Iterator[Table]:
    """Complete spans of each column, at most `MOST` of each."""
    for column in table.T:
        spans = sliding_window_view(column, length)
        spans = spans[np.isfinite(spans).all(axis=1)]
        yield spans[:: max(1, -(-len(spans) // MOST))]


def linear_forecast(
    past: NDArray[np.floating], linear: NDArray[np.float32]
) -> NDArray[np.floating]:
    """Forecast from pasts (N, S, C) by such a linear map."""
    last = past[:, -1:]
    levelled = (past - last)[:, past.shape[1] - len(linear) :]
    forecast: NDArray[np.floating] = np.einsum("nsc,st->ntc", levelled, linear) + last
    return forecast
