"""RELIABILITY A3: wherever a run is stopped, it ends as if it had not been."""

import itertools
import json
from pathlib import Path

import pytest
import torch

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.runs.progress import Plan, SilentObserver
from seqloom.store import RunDirectory
from tests.counts import count
from tests.runs.support import (
    PAIRS,
    PRESETS,
    Crash,
    assert_same,
    at,
    crash,
    history,
    interrupt,
    last,
    options,
    sitting,
    trained,
)

UPDATES = 9
pytestmark = pytest.mark.faults
each_kind = pytest.mark.parametrize(
    ("preset", "average"), list(itertools.product(PRESETS, ("last", "best")))
)


def chosen(preset: str, average: str) -> dict[str, object]:
    """At so high a rate the average of steps is better than the last, and so it is kept."""
    return options(
        preset,
        updates=UPDATES,
        validate_every=2,
        accumulate=2,
        average=average,
        average_steps=3,
        patience=0,
        rate=1.0,
        decay="constant",
    )


@each_kind
def test_resumed_from_every_step(preset: str, average: str, tmp_path: Path) -> None:
    """A3: one update a sitting, each resumed from the step before, is bit-identical to one go."""
    trained(tmp_path / "whole", chosen(preset, average))
    for step in range(1, UPDATES + 1):
        sitting(tmp_path / "parts", chosen(preset, average), until=step)
        assert last(tmp_path / "parts").number == step
    assert_same(tmp_path / "parts", tmp_path / "whole")
    assert any("average" in step.names() for step in RunDirectory(tmp_path / "whole").checkpoints())
    assert len(history(tmp_path / "whole")) == 5


def untimed(run: Path) -> list[dict[str, object]]:
    """The events of a run without their times, which no two runs share."""
    return [{**event, "seconds": 0, "time": ""} for event in RunDirectory(run).events()]


@each_kind
def test_stopped_once(preset: str, average: str, tmp_path: Path) -> None:
    """A3: stopped by a signal or dead at one step, the rest in one go."""
    trained(tmp_path / "whole", chosen(preset, average))
    steps = range(1, UPDATES) if count(1, 2) == 2 else [3]
    for step in steps:
        run = tmp_path / f"stopped-{step}"
        sitting(run, chosen(preset, average), until=step)
        trained(run, chosen(preset, average))
        assert_same(run, tmp_path / "whole")
        run = tmp_path / f"dead-{step}"
        with pytest.raises(Crash):
            train(PAIRS, run, options=chosen(preset, average), watch=at(step, crash))
        trained(run, chosen(preset, average))
        assert_same(run, tmp_path / "whole")
        assert untimed(run) == untimed(tmp_path / "whole")


def test_the_same_seed_gives_the_same_run_and_another_another(tmp_path: Path) -> None:
    """Randomness is a function of the seed."""
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        train(PAIRS, tmp_path / name, options={**options(updates=4), "seed": seed})
    assert_same(tmp_path / "one", tmp_path / "two")
    with pytest.raises(AssertionError):
        assert_same(tmp_path / "one", tmp_path / "three")


def test_training_leaves_the_callers_randomness_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    trained(tmp_path / "run", options(updates=2))
    assert torch.equal(torch.rand(3), expected)


def test_patience_is_remembered(tmp_path: Path) -> None:
    """S6.6: validations without progress are counted over sittings, and a stopped run stays so."""
    still = options(updates=40, validate_every=2, rate=1e-12, warmup=0, patience=3, average="none")
    still["training"]["monitor"] = "metric"
    whole = trained(tmp_path / "whole", still)
    assert whole.best.step == 2
    assert whole.steps == 8
    sitting(tmp_path / "parts", still, until=5)
    assert trained(tmp_path / "parts", still).steps == 8
    assert_same(tmp_path / "parts", tmp_path / "whole")
    assert trained(tmp_path / "whole", still).steps == 8


def test_a_damaged_newest_step_is_passed_over_and_named(tmp_path: Path) -> None:
    """A6: the run goes on from the newest sound step, says so, and ends the same."""
    trained(tmp_path / "whole", options())
    sitting(tmp_path / "run", options(), until=6)
    damage(tmp_path / "run" / "step-000006")
    notes: list[str] = []

    class Notes(SilentObserver):
        def on_start(self, plan: Plan) -> None:
            notes.extend(plan.notes)

    train(PAIRS, tmp_path / "run", options=options(), watch=Notes())
    assert any(note.startswith("step 6 was passed over: ") for note in notes)
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_what_is_said_to_be_saved_is_saved(tmp_path: Path) -> None:
    """A4: a stop at a step whose damaged copy lies there saves it anew."""
    sitting(tmp_path / "run", options(), until=6)
    damage(tmp_path / "run" / "step-000006")
    sitting(tmp_path / "run", options(), until=6)
    assert last(tmp_path / "run").number == 6


def test_a_damaged_step_to_average_with_does_not_end_the_run(tmp_path: Path) -> None:
    """A6: one that cannot be read is left out of the average."""
    averaged = options(updates=8, validate_every=2, average="last", average_steps=4)
    sitting(tmp_path / "run", averaged, until=6)
    damage(tmp_path / "run" / "step-000002")
    assert trained(tmp_path / "run", averaged).steps == 8


def test_steps_kept(tmp_path: Path) -> None:
    """The best, those to average with (should the newest fail, too), and the two newest stay."""
    run = tmp_path / "run"
    trained(run, options(updates=12, validate_every=2, average_steps=3, monitor="loss"))
    numbers = [step.number for step in RunDirectory(run).checkpoints()]
    best = min(history(run), key=lambda each: each["loss"])["step"]
    assert numbers == sorted({best, 8, 10, 12})
    used = {name: value.detach() for name, value in load(run).network.named_parameters()}
    saved = next(step for step in RunDirectory(run).checkpoints() if step.number == best)
    kind = "average" if "average" in saved.names() else "model"
    assert all(torch.equal(used[name], value) for name, value in saved.load(kind).items())


def test_events_are_whole_lines_in_order(tmp_path: Path) -> None:
    """events.jsonl has an entry for every 20th update and every validation."""
    run = tmp_path / "run"
    trained(run, options(updates=40, validate_every=20))
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    seen = [(line["event"], line["step"]) for line in lines]
    assert seen == [
        *[("update", 20), ("validation", 20), ("update", 40), ("validation", 40)],
        ("verdict", 40),  # so few updates teach nothing
    ]


def damage(step: Path) -> None:
    path = step / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_a_finished_run_is_left_alone(tmp_path: Path) -> None:
    """The same command on a finished run changes nothing and gives the same answer."""
    first = trained(tmp_path / "run", options(updates=4))
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("step-*/*")}
    assert train(PAIRS, tmp_path / "run", options=options(updates=4), watch=at(0, interrupt)) == (
        first
    )
    assert before == {path: path.read_bytes() for path in (tmp_path / "run").rglob("step-*/*")}
