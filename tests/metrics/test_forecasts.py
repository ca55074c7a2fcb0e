"""Errors of forecasts, and the simple forecasts beside them (S8)."""

import numpy as np
import pytest

from seqloom.metrics import (
    error_scores,
    find_season,
    forecast_errors,
    linear_forecast,
    ridge,
    seasonal_naive,
)


def test_errors_are_those_of_the_definition() -> None:
    """MSE and MAE are plain means over windows, steps and columns; R² measures against zero."""
    generator = np.random.default_rng(1)
    found, wanted = generator.normal(size=(2, 30, 4, 3))
    mse, mae, explained = error_scores(forecast_errors(found, wanted), block=4)
    assert mse.value == pytest.approx(np.mean((found - wanted) ** 2))
    assert mae.value == pytest.approx(np.mean(np.abs(found - wanted)))
    assert explained.value == pytest.approx(1 - mse.value / np.mean(wanted**2))
    assert mse.low < mse.value < mse.high


def test_blocks_widen_the_interval_of_windows_that_overlap() -> None:
    """Windows that follow one another err alike: drawn one by one they would look surer."""
    level = np.repeat(np.random.default_rng(2).normal(size=20), 10)[:, None, None]
    errors = forecast_errors(level, np.zeros_like(level))
    single, blocked = (error_scores(errors, block=block)[0] for block in (1, 10))
    assert single.value == pytest.approx(blocked.value)
    assert blocked.high - blocked.low > 1.5 * (single.high - single.low)


@pytest.mark.parametrize("season", [7, 24])
def test_the_season_is_found(season: int) -> None:
    """In noise and with a trend; white noise has none."""
    steps = np.arange(40 * season)
    generator = np.random.default_rng(3)
    wave = np.sin(2 * np.pi * steps / season) + 0.01 * steps + generator.normal(0, 0.3, len(steps))
    assert find_season(wave[:, None], 4 * season) == season
    assert find_season(generator.normal(size=(500, 2)), 100) == 1


def test_a_season_ago() -> None:
    """The last season over and over; a season longer than the past is cut to it."""
    past = np.arange(5.0)[None, :, None]
    assert seasonal_naive(past, 2, 5)[0, :, 0].tolist() == [3, 4, 3, 4, 3]
    assert seasonal_naive(past, 9, 6)[0, :, 0].tolist() == [0, 1, 2, 3, 4, 0]


def test_ridge_recovers_a_linear_series() -> None:
    """x(t) = 1.5 x(t-1) − 0.9 x(t-2) is forecast by a linear map; missing rows are passed by."""
    series = [1.0, 0.5]
    for _ in range(300):
        series.append(1.5 * series[-1] - 0.9 * series[-2] + 0.1)
    noise = np.random.default_rng(4).normal(0, 1e-3, (302, 1))
    table = np.array(series)[:, None] + noise
    table[150] = np.nan
    linear = ridge(table, 8, 4)
    past, came = table[None, 20:28], table[None, 28:32]
    assert np.abs(linear_forecast(past, linear) - came).max() < 0.05
