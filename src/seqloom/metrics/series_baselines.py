"""Forecasts that need no training to speak of, beside which a model has to stand."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = ["linear_forecast", "ridge", "ridge_path", "seasonal_naive"]

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
    (found,) = ridge_path(_column_spans(table, window + horizon), window, (PENALTY,))
    return found


def ridge_path(
    spans: Iterable[NDArray[np.floating]], window: int, penalties: Sequence[float]
) -> list[NDArray[np.float32]]:
    """The same map for each penalty, from spans (N, window + horizon) of single columns."""
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
    """Spans of each column that miss no row, at most `MOST` of each."""
    for column in table.T:
        spans = sliding_window_view(column, length)
        spans = spans[np.isfinite(spans).all(axis=1)]
        yield spans[:: max(1, -(-len(spans) // MOST))]


def linear_forecast(
    past: NDArray[np.floating], linear: NDArray[np.float32]
) -> NDArray[np.floating]:
    """The forecast of pasts (N, S, C) by such a map."""
    last = past[:, -1:]
    levelled = (past - last)[:, past.shape[1] - len(linear) :]
    forecast: NDArray[np.floating] = np.einsum("nsc,st->ntc", levelled, linear) + last
    return forecast
