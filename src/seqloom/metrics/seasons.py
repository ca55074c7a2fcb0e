"""Detect the season of a time series: its period in steps."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["calendar_periods", "find_season"]

REPEATS = 3  # multiples of a period at which the series must correlate with itself
WEAK = 0.1  # correlation below which a season is ignored
NEARLY = 0.8  # share of the strongest correlation: among these, the shortest is taken
CALENDAR = 0.95  # share of the strongest, less noise, for which a calendar period is taken
NOISE = 4.0  # standard errors of white noise, a bound for many periods tested at once
CYCLES = 1.4  # as above for drifting series, by the number of seasons they hold
EXPECTED = 0.6  # factor of both bounds for calendar periods: few of those are tested

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
CALENDAR_SECONDS = (MINUTE, HOUR, DAY, 7 * DAY, 365.25 * DAY)
CALENDAR_MONTHS = (12.0,)

Table = NDArray[np.float64]


def calendar_periods(unit: str, step: float) -> tuple[int, ...]:
    """The minute, hour, day, week and year in steps, for a step of some seconds or months.

    Only periods of two steps or more; none if times are plain numbers.
    """
    if unit == "number" or step <= 0:
        return ()
    spans = CALENDAR_SECONDS if unit == "seconds" else CALENDAR_MONTHS
    return tuple(round(span / step) for span in spans if round(span / step) >= 2)


def find_season(table: Table, most: int, *, calendar: Sequence[int] = ()) -> int:
    """The period of a table (N, C) in steps, at most `most`; 1 if it has none.

    The strength of a period is the autocorrelation at one, two and three times the period, on
    average, of what a moving average over one period leaves: that takes out trend and drift and
    leaves a season of that period whole. Being alike at all multiples rules out what merely moves
    slowly. Of the periods at which the strength has a peak that is not chance, the shortest that is
    about as strong as the strongest is the season; multiples of it are no stronger. A `calendar`
    period that is about as strong too is preferred, unless it is a multiple of the season found.
    """
    most = min(most, len(table) // REPEATS)
    if most < 2:
        return 1
    periods = np.arange(2, most + 1)
    whole = _complete(table)
    around = np.array([_strength(whole, period) for period in range(1, most + 2)])
    chance = np.maximum(NOISE, CYCLES * np.sqrt(periods)) / np.sqrt(len(table))
    before, strengths, after = around[:-2], around[1:-1], around[2:]
    peak = (strengths >= before) & (strengths >= after)
    usual = np.isin(periods, calendar)
    certain = peak & (strengths >= np.maximum(WEAK, np.where(usual, EXPECTED, 1.0) * chance))
    if not certain.any():
        return 1
    best = strengths[certain].max()
    season = int(periods[certain & (strengths >= NEARLY * best)][0])
    enough = CALENDAR * best - NOISE / 4 / np.sqrt(len(table))
    preferred = periods[usual & (periods % season > 0) & (strengths >= enough)]
    return int(preferred[0]) if len(preferred) else season


def _complete(table: Table) -> Table:
    """Interpolate missing values, column by column."""
    rows = np.arange(len(table))
    columns = []
    for column in table.T:
        there = np.isfinite(column)
        filled = np.interp(rows, rows[there], column[there]) if there.any() else np.zeros(len(rows))
        columns.append(filled)
    return np.stack(columns, axis=1)


def _strength(table: Table, period: int) -> float:
    """The mean autocorrelation at one, two and three periods, over all columns."""
    rest = table[period // 2 :][: len(table) - 2 * (period // 2)] - _moving_average(table, period)
    variance = np.maximum(np.square(rest).mean(axis=0), 1e-12)
    lags = [lag for lag in period * np.arange(1, REPEATS + 1) if len(rest) - lag >= period // 2]
    alike = [(rest[lag:] * rest[:-lag]).mean(axis=0) / variance for lag in lags]
    return float(np.mean(alike)) if alike else 0.0


def _moving_average(table: Table, period: int) -> Table:
    """The centred moving average over one period; the two ends of an even one have half weight."""
    sums = np.cumsum(np.concatenate([np.zeros((1, table.shape[1])), table]), axis=0)
    means: Table = (sums[period:] - sums[:-period]) / period
    return means if period % 2 else np.asarray((means[1:] + means[:-1]) / 2)
