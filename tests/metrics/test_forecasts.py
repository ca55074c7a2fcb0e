"""Errors of forecasts, and the simple forecasts beside them (S8)."""

import numpy as np
import pytest

from seqloom.metrics import (
    ForecastErrors,
    Score,
    SeriesScale,
    linear_forecast,
    ridge,
    score_all,
    seasonal_naive,
    seasonal_naive_error,
)

Array = np.ndarray
GENERATOR = np.random.default_rng(1)
FORECASTS, ACTUAL = GENERATOR.normal(size=(2, 30, 4, 3))
MEAN, SPREAD = np.array([5.0, 0.0, -20.0]), np.array([2.0, 1.0, 3.0])
NAIVE = np.array([0.5, 0.0, 2.0])
SCALE = SeriesScale(MEAN, SPREAD, NAIVE)


def measured(forecasts: Array, actual: Array, *, block: int = 1) -> dict[str, Score]:
    errors = ForecastErrors.of(forecasts, actual, SCALE)
    return {each.name: each for each in score_all(ForecastErrors.join([errors], block=block))}


def smape(forecasts: Array, actual: Array) -> Array:
    """By its formula, in own units."""
    one, other = forecasts * SPREAD + MEAN, actual * SPREAD + MEAN
    return np.asarray(200 * np.abs(one - other) / (np.abs(one) + np.abs(other)))


def test_errors_are_those_of_the_definition() -> None:
    """Plain means over windows, steps and columns; MASE leaves out the column whose naive error is
    0; R² measures against the training mean, which is 0."""
    found, off = measured(FORECASTS, ACTUAL, block=4), np.abs(FORECASTS - ACTUAL)
    assert list(found) == ["R²", "MSE", "MAE", "MASE", "sMAPE"]
    assert {name: each.value for name, each in found.items()} == pytest.approx(
        {
            "R²": 1 - np.mean(off**2) / np.mean(ACTUAL**2),
            "MSE": np.mean(off**2),
            "MAE": np.mean(off),
            "MASE": np.mean(off[..., [0, 2]] / NAIVE[[0, 2]]),
            "sMAPE": np.mean(smape(FORECASTS, ACTUAL)),
        }
    )
    assert all(each.interval.low < each.value < each.interval.high for each in found.values())


def test_errors_by_column_and_by_step() -> None:
    errors = ForecastErrors.join(
        [ForecastErrors.of(FORECASTS[p], ACTUAL[p], SCALE) for p in (slice(11), slice(11, 30))]
    )
    off = np.abs(FORECASTS - ACTUAL)
    for table, axes in (
        (errors.by_column(), (0, 1)),
        (errors.by_step(), (0, 2)),
        (errors.by_step_and_column(), (0,)),
    ):
        assert table.mse == pytest.approx((off**2).mean(axis=axes))
        assert table.mae == pytest.approx(off.mean(axis=axes))
        assert table.smape == pytest.approx(smape(FORECASTS, ACTUAL).mean(axis=axes))
    scaled = off[..., [0, 2]] / NAIVE[[0, 2]]
    assert errors.by_column().mase[[0, 2]] == pytest.approx(scaled.mean(axis=(0, 1)))
    assert np.isnan(errors.by_column().mase[1])
    assert errors.by_step().mase == pytest.approx(scaled.mean(axis=(0, 2)))


def test_bounds() -> None:
    """A perfect forecast has no error; sMAPE is 200 where one side is 0, and 0 where both are."""
    perfect = {name: each.value for name, each in measured(ACTUAL, ACTUAL).items()}
    assert perfect == pytest.approx({"R²": 1, "MSE": 0, "MAE": 0, "MASE": 0, "sMAPE": 0})
    plain = SeriesScale(np.zeros(1), np.ones(1), np.ones(1))
    forecasts, actual = np.array([[[0.0]], [[0.0]]]), np.array([[[3.0]], [[0.0]]])
    assert ForecastErrors.of(forecasts, actual, plain).by_column().smape == pytest.approx([100])


def test_the_naive_forecast_of_the_training_rows_has_a_mase_of_1() -> None:
    """One season ahead, on the series itself, by the definition of its scale."""
    table = np.cumsum(GENERATOR.normal(size=(60, 2)), axis=0)
    season = 5
    scale = SeriesScale(np.zeros(2), np.ones(2), seasonal_naive_error(table, season))
    errors = ForecastErrors.of(table[:-season, None], table[season:, None], scale)
    assert errors.by_column().mase == pytest.approx([1, 1])
    assert {each.name: each.value for each in score_all(errors)}["MASE"] == pytest.approx(1)


def test_the_naive_error_passes_by_missing_rows() -> None:
    table = np.array([[1.0], [2.0], [np.nan], [5.0], [4.0]])
    assert seasonal_naive_error(table, 1) == pytest.approx([1])
    assert seasonal_naive_error(table, 3) == pytest.approx([(4 + 2) / 2])
    assert seasonal_naive_error(table, 9) == pytest.approx([0])


def test_without_a_naive_error_there_is_no_mase() -> None:
    unknown = SeriesScale(MEAN, SPREAD, np.array([]))
    errors = ForecastErrors.of(FORECASTS, ACTUAL, unknown)
    assert [each.name for each in score_all(errors)] == ["R²", "MSE", "MAE", "sMAPE"]


def test_the_order_of_windows_and_columns_changes_nothing() -> None:
    rows, columns = GENERATOR.permutation(30), [2, 0, 1]
    scale = SeriesScale(MEAN[columns], SPREAD[columns], NAIVE[columns])
    moved = ForecastErrors.of(FORECASTS[rows][..., columns], ACTUAL[rows][..., columns], scale)
    found = {each.name: each.value for each in score_all(moved, seed=None)}
    assert found == pytest.approx({k: v.value for k, v in measured(FORECASTS, ACTUAL).items()})


def test_blocks_widen_the_interval_of_windows_that_overlap() -> None:
    """Windows that follow one another err alike: drawn one by one they would look surer."""
    level = np.repeat(np.random.default_rng(2).normal(size=20), 10)[:, None, None]
    level = np.broadcast_to(level, (200, 1, 3))
    single, blocked = (
        measured(level, np.zeros_like(level), block=block)["MSE"] for block in (1, 10)
    )
    assert single.value == pytest.approx(blocked.value)
    widths = [each.interval.high - each.interval.low for each in (single, blocked)]
    assert widths[1] > 1.5 * widths[0]


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
