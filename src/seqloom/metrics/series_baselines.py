"""Forecasts that need no training to speak of, beside which a model has to stand."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = ["find_season", "linear_forecast", "ridge", "seasonal_naive"]

STRONG = 0.2  # correlation at a distance from which on a series is said to repeat
NEARLY = 0.9  # of the strongest: among those, the shortest season is taken
PENALTY = 1e-4  # of the ridge, as a share of the mean square of what is read
MOST = 20_000  # windows of a column that the ridge is fitted to

Table = NDArray[np.float64]


def find_season(table: Table, most: int) -> int:
    """The steps, up to `most`, after which a table (N, C) repeats; 1 where it does not.

    It is the shortest distance at which the autocorrelation, the trend taken out, has a peak that
    is about as high as the highest.
    """
    rows = len(table)
    most = min(most, rows // 3)
    if most < 2:
        return 1
    steps = np.arange(rows) - (rows - 1) / 2
    centred = np.nan_to_num(table - np.nanmean(table, axis=0))
    centred = centred - steps[:, None] * (steps @ centred / (steps @ steps))
    spectrum = np.fft.rfft(centred, 2 * rows, axis=0)
    products = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[: most + 2]
    variance = np.maximum(products[0], 1e-12)
    alike = (products / variance).mean(axis=1) * rows / (rows - np.arange(len(products)))
    inner = alike[1:-1]
    peaks = np.flatnonzero((inner >= alike[:-2]) & (inner >= alike[2:])) + 1
    peaks = peaks[(peaks >= 2) & (alike[peaks] >= STRONG)]
    if not len(peaks):
        return 1
    return int(peaks[alike[peaks] >= NEARLY * alike[peaks].max()][0])


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
