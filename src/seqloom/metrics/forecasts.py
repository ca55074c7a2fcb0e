"""Forecast errors: standardized, in per cent, and relative to the seasonal naive forecast.

MASE is of Hyndman and Koehler 2006, "Another look at measures of forecast accuracy"; sMAPE of
Makridakis 1993, "Accuracy measures: theoretical and practical concerns", from 0 to 200.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.fields.series import SeriesField
from seqloom.metrics.metric import METRICS, Direction, SumMetric, check_rows

__all__ = [
    "ErrorTable",
    "ForecastErrors",
    "ForecastMeanAbsoluteError",
    "ForecastRSquared",
    "MeanAbsoluteScaledError",
    "MeanSquaredError",
    "SeriesScale",
    "SymmetricPercentageError",
    "seasonal_naive_error",
]

Floats = NDArray[np.float64]
EXACT = 1e-6  # standardized naive error below which a series counts as periodic without error
PARTS = 5  # statistics kept of each error: see `_parts`


@dataclass(frozen=True)
class SeriesScale:
    """The scale of standardized columns, and the error of their seasonal naive forecast.

    `naive_error` is the mean absolute error of the seasonal naive forecast over the training rows,
    standardized; if it is empty (unknown), MASE is not computed.
    """

    mean: Floats
    spread: Floats
    naive_error: Floats

    @classmethod
    def of(cls, target: SeriesField) -> Self:
        """The scale of the forecast columns of a run."""
        known = target.past.naive_error if target.past else ()
        return cls(target.mean, target.spread, np.array(known, np.float64))

    @property
    def divisors(self) -> Floats:
        """The denominator of MASE for each column; NaN for a column without a naive error."""
        if not len(self.naive_error):
            return np.full(len(self.mean), np.nan)
        return np.where(self.naive_error > EXACT, self.naive_error, np.nan)


class ErrorTable(NamedTuple):
    """Errors averaged over axes: by column (C,), by step ahead (T,), or by both (T, C)."""

    mse: Floats
    mae: Floats
    mase: Floats  # NaN if unknown
    smape: Floats  # per cent, 0 to 200


@dataclass(frozen=True)
class ForecastErrors:
    """Errors of forecasts of N windows, T steps ahead, of C standardized columns.

    Windows overlap, so bootstrap resamples draw blocks of `block` consecutive windows.
    """

    windows: Floats  # (N, C, PARTS): means over the steps
    steps: Floats  # (T, C, PARTS): sums over the windows
    block: int = 1
    kind: str = "series"

    @classmethod
    def of(
        cls, forecasts: NDArray[np.floating], actual: NDArray[np.floating], scale: SeriesScale
    ) -> Self:
        """Compute the errors of standardized forecasts (N, T, C)."""
        check_rows(forecasts, actual)
        parts = _parts(np.asarray(forecasts, np.float64), np.asarray(actual, np.float64), scale)
        return cls(parts.mean(axis=1), parts.sum(axis=0))

    @classmethod
    def join(cls, groups: Sequence[Self], *, block: int = 1) -> Self:
        """Concatenate the errors of groups of windows."""
        windows = np.concatenate([each.windows for each in groups])
        steps = np.sum([each.steps for each in groups], axis=0)
        return replace(groups[0], windows=windows, steps=steps, block=block)

    def __len__(self) -> int:
        return (len(self.windows) + self.block - 1) // self.block

    @property
    def has_naive_error(self) -> bool:
        """Whether MASE is known."""
        return bool(np.isfinite(self.windows[0, :, 4]).any())

    @property
    def sums(self) -> Floats:
        """Sums (blocks, PARTS + 1) of each block: the errors of its windows, and their number."""
        starts = np.arange(0, len(self.windows), self.block)
        sums = np.add.reduceat(_column_means(self.windows), starts)
        counts = np.diff(np.append(starts, len(self.windows)))
        return np.concatenate([sums, counts[:, None]], axis=1)

    def by_column(self) -> ErrorTable:
        """Errors of each column (C,), averaged over windows and steps."""
        return _table(self.windows.mean(axis=0))

    def by_step(self) -> ErrorTable:
        """Errors of each step ahead (T,), averaged over windows and columns."""
        return _table(_column_means(self.steps) / len(self.windows))

    def by_step_and_column(self) -> ErrorTable:
        """Errors of each step ahead and column (T, C), averaged over windows."""
        return _table(self.steps / len(self.windows))


def _parts(forecasts: Floats, actual: Floats, scale: SeriesScale) -> Floats:
    """Statistics (N, T, C, PARTS): squared and absolute error, squared actual, symmetric percentage
    error in original units, and absolute error divided by the naive one.
    """
    off = np.abs(forecasts - actual)
    own = [values * scale.spread + scale.mean for values in (forecasts, actual)]
    size = np.abs(own[0]) + np.abs(own[1])
    share = np.divide(off * scale.spread, size, where=size > 0, out=np.zeros_like(size))
    return np.stack([off**2, off, actual**2, 200 * share, off / scale.divisors], axis=-1)


def _column_means(parts: Floats) -> Floats:
    """Means of parts (…, C, PARTS) over columns; scaled errors over the columns that have them."""
    means: Floats = parts.mean(axis=1)
    there = np.isfinite(parts[0, :, 4])
    if there.any():
        means[:, 4] = parts[:, there, 4].mean(axis=1)
    return means


def _table(parts: Floats) -> ErrorTable:
    return ErrorTable(parts[..., 0], parts[..., 1], parts[..., 4], parts[..., 3])


def seasonal_naive_error(table: Floats, season: int) -> Floats:
    """Seasonal naive error (C,): the mean absolute difference between the rows of a table (N, C)
    and those one season before, without missing rows; 0 for a column without a complete pair.
    """
    gaps = np.abs(table[season:] - table[:-season]) if season < len(table) else table[:0]
    there = np.isfinite(gaps)
    total: Floats = np.where(there, gaps, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(there.sum(axis=0), 1), np.float64)


class _ForecastMetric(SumMetric[ForecastErrors]):
    """A mean of one statistic over windows, steps and columns."""

    direction = Direction.LOWER
    targets = ("series",)
    digits = 4
    part = 0

    def signature(self, data: ForecastErrors) -> str:
        """The scale, and the size of bootstrap blocks."""
        return f"standardised|windows:{len(data.windows)}|blocks of {data.block}"

    def statistics(self, data: ForecastErrors) -> Floats:
        """The sums of each block."""
        return data.sums

    def combine(self, sums: Floats) -> float:
        """The mean."""
        return float(sums[self.part] / sums[PARTS])


@METRICS.part("forecast R²")
class ForecastRSquared(_ForecastMetric):
    """R²: 1 − squared error / squared distance from the training mean; 0 for predicting that mean,
    1 at best.
    """

    name = "R²"
    direction = Direction.HIGHER
    order = 10

    def leads(self, data: ForecastErrors) -> bool:
        """Always true: on the same windows R² ranks models as MSE does, and it has a scale."""
        return True

    def combine(self, sums: Floats) -> float:
        """0 if all values equal the training mean."""
        return float(1 - sums[0] / sums[2]) if sums[2] > 0 else 0.0


@METRICS.part("MSE")
class MeanSquaredError(_ForecastMetric):
    """Mean squared error of standardized columns."""

    name = "MSE"
    order = 11


@METRICS.part("forecast MAE")
class ForecastMeanAbsoluteError(_ForecastMetric):
    """Mean absolute error of standardized columns."""

    name = "MAE"
    order = 12
    part = 1


@METRICS.part("MASE")
class MeanAbsoluteScaledError(_ForecastMetric):
    """MASE: the mean absolute error divided by that of the seasonal naive forecast over the
    training rows, averaged over columns; below 1 is better than that forecast one season ahead.
    """

    name = "MASE"
    order = 13
    part = 4

    def fits(self, data: ForecastErrors) -> bool:
        """Whether some column has a naive error that is not 0."""
        return data.has_naive_error

    def signature(self, data: ForecastErrors) -> str:
        """The size of bootstrap blocks."""
        return f"windows:{len(data.windows)}|blocks of {data.block}"


@METRICS.part("sMAPE")
class SymmetricPercentageError(_ForecastMetric):
    """sMAPE: the mean of 200 × |error| / (|forecast| + |actual|) in the columns' original units."""

    name = "sMAPE"
    order = 14
    part = 3
    digits = 2

    def signature(self, data: ForecastErrors) -> str:
        """The units, and the size of bootstrap blocks."""
        return f"own units|windows:{len(data.windows)}|blocks of {data.block}"
