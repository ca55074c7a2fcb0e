"""Forecasting from a table to a forecast: training, scale, resumption, use (S1.2)."""

import math
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from seqloom.api.describe import check_data
from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.config import merge
from seqloom.data import Corpus
from seqloom.errors import ConfigError, DataError, Interrupted
from seqloom.fields import SeriesField
from seqloom.prediction import Forecaster
from seqloom.runs.progress import Progress
from seqloom.runs.request import TrainingRequest
from seqloom.store import RunDirectory
from seqloom.tasks.series_evaluation import SeriesEvaluation
from seqloom.tasks.series_start import PENALTIES, fit_linear_start
from tests.runs.support import assert_same, at, interrupt
from tests.tasks.wave_series import ROWS, SMALL, STEPPED, write


def forecaster(run: Path) -> Forecaster:
    """The model of a run, which must be one that forecasts."""
    model = load(run)
    assert isinstance(model, Forecaster)
    return model


def test_an_exactly_linear_series_is_learnt(tmp_path: Path) -> None:
    """A wave is a linear function of its past: the error falls to a thousandth of its spread, the
    forecast is in the columns' own units, and its times go on."""
    data = write(tmp_path / "a.csv")
    options = merge(SMALL, {"training": {"updates": 400, "validate_every": 400, "rate": 0.02}})
    train(data, tmp_path / "run", options=options)
    model = forecaster(tmp_path / "run")
    result = evaluate(model, data)
    assert isinstance(result, SeriesEvaluation)
    scores = {each.name: each.value for each in result.scores}
    assert list(scores) == ["R²", "MSE", "MAE", "sMAPE"]  # no MASE: the naive forecast is exact
    assert scores["MSE"] < 1e-3
    assert set(result.baselines) == {"seasonal naive (season of 8)", "linear (ridge)"}
    found = model.forecast_after(data)
    angles = 2 * np.pi * np.arange(ROWS, ROWS + 4) / 8
    assert np.abs(found.mean[:, 0] - (100 + 10 * np.sin(angles))).max() < 1
    assert found.times[0] == "2026-01-11 20:00"
    assert (found.quantiles[0.1] <= found.quantiles[0.9]).all()


@pytest.mark.parametrize("preset", ["auto", "gru"])
def test_a_run_begins_with_the_best_linear_forecast(preset: str, tmp_path: Path) -> None:
    """Step 0 holds ridge regression with the penalty that held-out windows like best, by a solver
    of its own here; it is validated, so that a network which does not help is not used."""
    data = write(tmp_path / "a.csv", noise=5.0)
    train(
        data,
        tmp_path / "run",
        model=preset,
        options=merge(SMALL, STEPPED if preset == "gru" else {}),
        until=1,
    )
    run = RunDirectory(tmp_path / "run")
    train_windows, valid_windows = (
        Corpus.open(run.cache_directory / side) for side in ("train", "valid")
    )
    start = fit_linear_start(train_windows, valid_windows, (0.1, 0.9))
    parts = [each.batch(np.arange(len(each))) for each in (train_windows, valid_windows)]
    (x, y), (u, v) = ((_by_column(part.source), _by_column(part.target)) for part in parts)
    maps, errors = [], []
    for penalty in PENALTIES:
        inputs, outputs = x - x[:, -1:], y - x[:, -1:]
        square = inputs.T @ inputs
        square += penalty * np.trace(square) / len(square) * np.eye(len(square))
        maps.append(np.linalg.solve(square, inputs.T @ outputs))
        errors.append(np.square((u - u[:, -1:]) @ maps[-1] + u[:, -1:] - v).mean())
    best = int(np.argmin(errors))
    assert start.penalty == PENALTIES[best]
    np.testing.assert_allclose(start.linear, maps[best], atol=1e-5)
    (step,) = (each for each in run.checkpoints() if each.number == 0)
    assert "least squares" in str(Progress.from_dict(step.progress()).origin)
    name = "head.output" if preset == "auto" else "head.linear"
    np.testing.assert_array_equal(step.load("model")[f"{name}.weight"][::3], start.linear.T)
    validations = Progress.from_dict(run.checkpoints()[-1].progress()).validations
    assert validations[0].step == 0
    if preset == "auto":
        assert validations[0].scores["MSE"] == pytest.approx(errors[best], rel=1e-4)


def test_a_run_that_a_simple_forecast_beats_says_so(tmp_path: Path) -> None:
    """When training ends and in evaluate, by name; of a run that beats them nothing is said."""
    lines = ["date,a", *(f"{n},{math.sin(n / 20) + math.sin(n / 7) / 3:.6f}" for n in range(300))]
    data = tmp_path / "a.csv"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    few = merge(SMALL, {"training": {"updates": 2, "validate_every": 2}})
    beaten = train(data, tmp_path / "beaten", options=merge(few, {"model": {"linear": False}}))
    assert "the baseline 'linear (ridge)' is ahead: " in beaten.diagnosis
    said = "\n".join(evaluate(load(tmp_path / "beaten"), data).lines())
    assert "is ahead: R²" in said
    ahead = train(data, tmp_path / "ahead", options=few)
    assert "ahead" not in ahead.diagnosis


def _by_column(windows: np.ndarray) -> np.ndarray:
    """Windows (N, S, C) as rows (N·C, S)."""
    return np.asarray(windows, np.float64).swapaxes(1, 2).reshape(-1, windows.shape[1])


def test_the_scale_is_that_of_the_training_rows_and_is_kept(tmp_path: Path) -> None:
    """Mean and spread of the first rows alone; scaled and unscaled is where one was."""
    data = write(tmp_path / "a.csv", noise=1.0)
    train(data, tmp_path / "run", options=merge(SMALL, {"data": {"parts": [150, 60]}}))
    field = forecaster(tmp_path / "run").target
    assert isinstance(field, SeriesField)
    rows = np.genfromtxt(data, delimiter=",", skip_header=1, usecols=(1, 2))
    assert field.mean == pytest.approx(rows[:150].mean(axis=0))
    assert field.spread == pytest.approx(rows[:150].std(axis=0))
    assert field.unscale(field.scale(rows)) == pytest.approx(rows, rel=1e-5)
    standard = field.scale(rows[:150])
    assert standard.mean(axis=0) == pytest.approx([0, 0], abs=1e-5)
    assert field.rows([field.cell(standard)])[0] == pytest.approx(standard, abs=1e-3)


def test_month_ends_are_forecast_as_month_ends(tmp_path: Path) -> None:
    """The times of a forecast are the last days that the calendar has."""
    ends = [date(2015 + (n + 1) // 12, (n + 1) % 12 + 1, 1) - timedelta(days=1) for n in range(126)]
    lines = ["date,a", *(f"{end},{math.sin(n):.6f}" for n, end in enumerate(ends[:122]))]
    data = tmp_path / "a.csv"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    train(data, tmp_path / "run", options=SMALL)
    assert forecaster(tmp_path / "run").forecast_after(data).times == tuple(map(str, ends[122:]))


def test_forecasts_of_every_kind_can_be_asked_together(tmp_path: Path) -> None:
    """At once or fed back, by whatever parts: the mean of what each says alone."""
    data = write(tmp_path / "a.csv", noise=0.5)
    presets = ("auto", "gru", "transformer")
    for preset in presets:
        train(data, tmp_path / preset, model=preset, options=SMALL)
    both = load(*(tmp_path / preset for preset in presets))
    assert isinstance(both, Forecaster)
    alone = [forecaster(tmp_path / preset).forecast_after(data).mean for preset in presets]
    assert both.forecast_after(data).mean == pytest.approx(np.mean(alone, axis=0), rel=1e-5)


@pytest.mark.parametrize("preset", ["auto", "gru"])
def test_steps_past_the_horizon_are_rolled_by_hand(tmp_path: Path, preset: str) -> None:
    """S1.2: what is forecast is appended to what was observed, and read in turn."""
    data = write(tmp_path / "a.csv", noise=0.5)
    options = merge(SMALL, STEPPED if preset == "gru" else {})
    train(data, tmp_path / "run", model=preset, options=options)
    model = forecaster(tmp_path / "run")
    table = model.read_table(data)
    long = model.forecast_after(data, steps=10)
    window = model.source.scale(table.values)[-12:]
    by_hand = []
    for _ in range(3):
        block = model.forecast_windows(window[None])[0, ..., 0]
        by_hand.append(block)
        window = np.concatenate([window, block])[-12:]
    expected = model.target.unscale(np.concatenate(by_hand)[:10])
    assert long.mean == pytest.approx(expected)
    assert model.forecast_after(data, steps=2).mean == pytest.approx(long.mean[:2])


@pytest.mark.parametrize("preset", ["auto", "gru"])
def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path: Path, preset: str) -> None:
    """RELIABILITY A3, with teacher forcing drawn anew at each update."""
    data = str(write(tmp_path / "a.csv", noise=0.5))
    options = merge(SMALL, STEPPED if preset == "gru" else {})
    train(data, tmp_path / "whole", model=preset, options=options)
    with pytest.raises(Interrupted):
        train(data, tmp_path / "two", model=preset, options=options, watch=at(25, interrupt))
    train(data, tmp_path / "two", model=preset, options=options)
    assert_same(tmp_path / "whole", tmp_path / "two")


def test_what_is_known_ahead_is_used(tmp_path: Path) -> None:
    """A column that only the future explains: the known one makes the forecast right."""
    generator = np.random.default_rng(6)
    known = generator.normal(size=ROWS)
    lines = ["t,y,z", *(f"{n},{2 * z + 1:.6f},{z:.6f}" for n, z in enumerate(known))]
    data = tmp_path / "a.csv"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = merge(
        SMALL,
        {
            "data": {"target": "y", "time": "t"},
            "source": {"known": "z"},
            "training": {"updates": 400, "validate_every": 400, "rate": 0.02},
        },
    )
    train(data, tmp_path / "run", options=options)
    model = forecaster(tmp_path / "run")
    result = evaluate(model, data)
    assert {each.name: each.value for each in result.scores}["MSE"] < 0.1
    with pytest.raises(DataError, match="z must be given for 4 steps after the last row"):
        model.forecast_after(data)
    ahead = [0.5, -1.0, 2.0, 0.0]
    more = [f"{ROWS + n},,{z}" for n, z in enumerate(ahead)]
    data.write_text("\n".join([*lines, *more]) + "\n", encoding="utf-8")
    found = model.forecast_after(data)
    assert np.abs(found.mean[:, 0] - (2 * np.array(ahead) + 1)).max() < 1.0
    assert found.times == tuple(str(ROWS + n) for n in range(4))


def test_what_cannot_be_forecast_is_refused(tmp_path: Path) -> None:
    """Too few rows, a source that is no series, columns that are not there."""
    data = write(tmp_path / "a.csv")
    for options, error, words in (
        ({"source": {"window": 300}}, DataError, "lower source.window"),
        ({"source": {"kind": "label", "window": None}}, ConfigError, "source"),
        ({"data": {"target": "c"}}, DataError, "no column 'c'"),
    ):
        with pytest.raises(error, match=words):
            train(data, tmp_path / "run", options=merge(SMALL, options))


def test_the_season_that_is_told_is_the_one_that_was_used(tmp_path: Path) -> None:
    """One longer than the window is cut to it, and the scores beside it are those of the cut."""
    data = write(tmp_path / "a.csv", noise=1.0)
    told = []
    for season in (12, 30):
        options = merge(SMALL, {"target": {"season": season}})
        train(data, tmp_path / f"{season}", options=options)
        result = evaluate(forecaster(tmp_path / f"{season}"), data)
        assert isinstance(result, SeriesEvaluation)
        told.append(result.baselines["seasonal naive (season of 12)"])
        assert "season: 12 steps" in check_data(TrainingRequest(data, options=options))
    assert told[0] == told[1]
    assert [each.name for each in told[0]] == ["R²", "MSE", "MAE", "MASE", "sMAPE"]


def test_another_series_is_another_run(tmp_path: Path) -> None:
    """A run goes on with its own rows alone."""
    data = write(tmp_path / "a.csv")
    train(data, tmp_path / "run", options=SMALL)
    write(data, noise=1.0)
    with pytest.raises(DataError, match="not the data"):
        train(data, tmp_path / "run", options=SMALL)
