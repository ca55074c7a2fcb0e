"""`training.minutes` is a budget: a run ends annealed when its time is used up (S6.6)."""

import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from seqloom.api.train import train
from seqloom.runs import learner
from seqloom.runs.progress import Progress, Validation
from seqloom.runs.timing.time_budget import (
    budget_scale,
    fit_schedule,
    refit_schedule,
    validation_interval,
)
from seqloom.store import RunDirectory
from seqloom.training import learning_rate
from tests.runs.support import PAIRS, Options, assert_same, last, options, sitting
from tests.training.support import training

BUDGET: Options = {"updates": 4_000, "minutes": 1.0, "warmup": 400, "validate_every": 1_000}


@pytest.fixture
def second_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by one second whenever it is asked: at each update."""
    ticks = count()

    class Clock:
        monotonic = staticmethod(lambda: float(next(ticks)))

    monkeypatch.setattr(learner, "time", Clock)


def rates(run: Path) -> dict[int, float]:
    return {
        each["step"]: each["rate"]
        for each in RunDirectory(run).events()
        if each["event"] == "update"
    }


@pytest.mark.usefixtures("second_each")
def test_a_run_ends_annealed_when_its_time_is_over(tmp_path: Path) -> None:
    """An update a second: about 55 of 4,000 fit into a minute, and the rate falls to its end."""
    train(PAIRS, tmp_path / "run", options=options(**BUDGET))
    progress = last(tmp_path / "run").progress()
    assert 45 <= progress["step"] == progress["scheduled"] <= 60
    assert len(progress["validations"]) >= 6
    found = rates(tmp_path / "run")
    assert found[20] > 0.5 * 1e-3
    assert found[40] < 0.4 * max(found.values())
    final = training(**{**BUDGET, "rate": 1e-3})
    short = final.model_copy(update={"updates": progress["step"], "warmup": 5})
    ended = Progress.from_dict({**progress, "step": progress["step"] - 1})
    wanted = learning_rate(short, progress["step"] - 1)
    assert budget_scale(final, ended) * learning_rate(final, ended.step) == pytest.approx(wanted)
    assert wanted < 0.05 * final.rate


@pytest.mark.usefixtures("second_each")
def test_a_resumed_run_follows_the_schedule_that_was_measured(tmp_path: Path) -> None:
    """A3: two copies of a run that was stopped after measuring end alike, bit for bit."""
    chosen = options(**BUDGET)
    sitting(tmp_path / "one", chosen, until=20)
    assert last(tmp_path / "one").progress()["scheduled"] > 20
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    train(PAIRS, tmp_path / "one", options=chosen)
    sitting(tmp_path / "two", chosen, until=31)
    train(PAIRS, tmp_path / "two", options=chosen)
    assert_same(tmp_path / "one", tmp_path / "two")


def test_a_plan_that_fits_is_kept() -> None:
    """Where all updates fit into the time, nothing is different from a run without a budget."""
    config = training(updates=100, minutes=10.0, warmup=10)
    progress = fit_schedule(config, Progress(step=50, seconds=20.0))
    assert progress.scheduled == 100
    assert budget_scale(config, progress) == 1.0
    assert refit_schedule(config, progress) == progress


def test_it_is_fitted_again_when_the_machine_slows_down() -> None:
    config = training(updates=100_000, minutes=10.0)
    first = fit_schedule(config, Progress(step=100, seconds=20.0))
    assert first.scheduled == pytest.approx(100 + 0.85 * 580 * 5, abs=2)
    later: dict[str, Any] = {**first.as_dict(), "step": 1_000}
    steady = Progress.from_dict({**later, "seconds": 210.0})
    assert refit_schedule(config, steady).scheduled == first.scheduled
    slower = refit_schedule(config, Progress.from_dict({**later, "seconds": 400.0}))
    assert slower.scheduled == pytest.approx(1_500, abs=2)


def test_another_budget_is_measured_anew() -> None:
    known = Progress(step=50, seconds=200.0, budget=5.0, scheduled=75)
    assert fit_schedule(training(updates=900, minutes=5.0), known) == known
    longer = fit_schedule(training(updates=900, minutes=10.0), known)
    assert (longer.budget, longer.scheduled) == (10.0, 135)
    assert fit_schedule(training(updates=900), known).scheduled == 0


@pytest.mark.parametrize("update", [0.05, 0.5])
@pytest.mark.parametrize("validation", [0.0, 2.0, 20.0, 50.0, 200.0])
def test_a_budget_that_validations_eat_up_ends_annealed(update: float, validation: float) -> None:
    """Whatever a validation costs, the rate falls to its end, no validation but the first and the
    last exceeds the time, and they take a third of it at most."""
    config = training(updates=100_000, minutes=1.0, warmup=400, validate_every=1_000)
    progress, rate, ended = Progress(), 0.0, False
    while not ended:
        rate = budget_scale(config, progress) * learning_rate(config, progress.step)
        seconds = progress.seconds + update
        progress = replace(progress, step=progress.step + 1, seconds=seconds)
        progress = fit_schedule(config, progress)
        ended = progress.step == progress.last_update(config)
        if ended or progress.step % validation_interval(config, progress) == 0:
            progress = replace(
                progress,
                seconds=progress.seconds + validation,
                validating=progress.validating + validation,
                validations=(*progress.validations, Validation(progress.step, 0.0, 0.0)),
            )
            progress = refit_schedule(config, progress)
            ended = progress.step == progress.last_update(config)
    assert rate < 0.05 * config.rate
    assert progress.seconds <= 1.15 * (60 + 2 * validation)
    assert progress.seconds >= 0.7 * 60
    if validation <= 20:
        assert progress.validating <= 0.45 * progress.seconds + validation
    assert len(progress.validations) >= 2
