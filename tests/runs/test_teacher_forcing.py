"""S6.2, S6.3 in whole runs: own outputs in place of labels, gradients that are cut off."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.api.describe import describe
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.errors import ConfigError
from seqloom.training import Update
from tests.runs.support import (
    PAIRS,
    Options,
    Watching,
    assert_same,
    history,
    last,
    options,
    sitting,
    trained,
)

UPDATES = 6
SOFT = {"kind": "never", "choice": "soft", "final_temperature": 0.2}
STRAIGHT = {"kind": "inverse-sigmoid", "choice": "straight-through"}
DRAWN = {"kind": "exponential", "choice": "draw"}
METHODS: dict[str, tuple[str, Options]] = {
    "greedy steps": ("lstm", {"forcing": "linear"}),
    "soft steps": ("lstm", {"forcing": SOFT}),
    "drawn passes": ("transformer", {"forcing": DRAWN}),
    "straight passes": ("transformer", {"forcing": STRAIGHT}),
    "truncated steps": ("lstm", {"truncate": 2, "forcing": "linear"}),
    "truncated passes": ("transformer", {"truncate": 2}),
}


def chosen(preset: str, **training: Any) -> Options:
    short = {"updates": UPDATES, "validate_every": 3, "patience": 0}
    return options(preset, **{**short, **training})


@pytest.mark.faults
@pytest.mark.parametrize("method", METHODS)
def test_stopped_twice_is_not_stopped(method: str, tmp_path: Path) -> None:
    """A3: to the same bits; and what is learnt is not what labels alone teach."""
    preset, training = METHODS[method]
    trained(tmp_path / "whole", chosen(preset, **training))
    for until in (2, 3, UPDATES):
        sitting(tmp_path / "parts", chosen(preset, **training), until=until)
    assert_same(tmp_path / "parts", tmp_path / "whole")
    trained(tmp_path / "plain", chosen(preset))
    assert any_differs(tmp_path / "whole", tmp_path / "plain")


@pytest.mark.parametrize("preset", ["lstm", "transformer"])
def test_certain_labels_are_plain_teacher_forcing(preset: str, tmp_path: Path) -> None:
    """p = 1, bit for bit, dropout and all."""
    trained(tmp_path / "plain", chosen(preset, updates=3))
    certain = {"kind": "constant", "probability": 1, "choice": "soft"}
    trained(tmp_path / "certain", chosen(preset, forcing=certain, updates=3))
    assert_same(tmp_path / "certain", tmp_path / "plain")


def any_differs(run: Path, other: Path) -> bool:
    mine, theirs = last(run).load("model"), last(other).load("model")
    return any(not torch.equal(value, theirs[name]) for name, value in mine.items())


@pytest.mark.faults
@pytest.mark.parametrize("method", ["straight", "truncated"])
def test_one_worker_and_two_draw_the_same(method: str, tmp_path: Path) -> None:
    """Labels and draws belong to rows, whoever computes them; with weights, smoothing, one position
    a row and accumulated batches."""
    losses: dict[int, list[float]] = {1: [], 2: []}
    training = {"forcing": STRAIGHT} if method == "straight" else {"forcing": DRAWN, "truncate": 2}
    mixed = {"accumulate": 2, "one_position": True, "label_smoothing": 0.1}
    for count, found in losses.items():

        def remember(update: Update, found: list[float] = found) -> None:
            found.append(update.loss)

        wish = chosen("lstm", dropout=0.0, workers=count, **mixed, **training)
        train(PAIRS, tmp_path / str(count), options=wish, watch=Watching(remember))
    assert losses[2] == pytest.approx(losses[1], abs=1e-5)


@pytest.mark.parametrize("preset", ["lstm", "transformer"])
def test_the_exposure_gap_is_an_event_and_described(preset: str, tmp_path: Path) -> None:
    """What reading its own outputs costs on held-out rows, after each look at them."""
    run = tmp_path / "run"
    trained(run, chosen(preset, dropout=0.0))
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    gaps = [each["gap"] for each in events if each["event"] == "validation"]
    assert gaps == [each["gap"] for each in history(run)]
    assert all(gap != 0 for gap in gaps)
    lines = [line for line in describe(run).lines() if "exposure gap" in line]
    assert [float(line.split("exposure gap ")[1].split()[0]) for line in lines] == [
        round(gap, 3) for gap in gaps
    ]


def test_what_does_not_go_together_is_refused_before_training(tmp_path: Path) -> None:
    """S6.3: one sentence, and no run is begun."""
    with pytest.raises(ConfigError, match="steps that are cut off"):
        trained(tmp_path / "run", chosen("lstm", forcing=SOFT, truncate=2))
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError, match=r"training\.forcing\.kind is 'sometimes'"):
        trained(tmp_path / "run", chosen("lstm", forcing="sometimes"))


def test_a_model_learns_from_its_own_outputs(tmp_path: Path) -> None:
    """Ten words to write with ever fewer labels, to the letter."""
    words = [(letter, letter * 3) for letter in "abcdefghij"]
    wish = options("lstm", dropout=0.0, forcing="linear", updates=300, rate=0.02, batch_rows=10)
    wish["training"] |= {"validate_every": 100, "label_smoothing": 0, "target": 100}
    train(words, tmp_path / "run", valid=words, options=wish)
    model = load(tmp_path / "run")
    assert [model(source).text for source, _ in words] == [target for _, target in words]
