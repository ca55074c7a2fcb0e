"""Confidences of labels and tags are fitted on held-out rows, and change no output."""

import json
from pathlib import Path

import pytest

import seqloom
from seqloom.api.load import load
from seqloom.prediction import HeadPredictor, Predictor
from seqloom.prediction.request import OutputOptions
from seqloom.runs.contents import choose_step
from seqloom.store import RunDirectory
from seqloom.tasks import task_of
from seqloom.tasks.task import read_network
from tests.cli.class_rows import labelled, tagged, write
from tests.cli.support import Command

MADE = {"label": labelled, "tags": tagged}
SETTINGS = [
    *("model.embedding=8", "model.encoder.width=8", "model.encoder.layers=1", "training.workers=1"),
    *("training.curves=false", "training.average=none", "training.samples=0"),
    *("training.updates=40", "training.validate_every=20", "training.batch_tokens=256"),
    *("training.rate=2e-2", "training.warmup=5", "training.label_smoothing=0.6"),
]


def unfitted(run: Path) -> HeadPredictor:
    """The model with the weights as they were learnt."""
    fitted = load(run)
    step = choose_step(RunDirectory(run)).step
    network = read_network(step, fitted.config, fitted.source, fitted.target)
    found = task_of(fitted.config).predictor(fitted.config, fitted.source, fitted.target, network)
    assert isinstance(found, HeadPredictor)
    return found


def error_of(model: Predictor, data: Path) -> float:
    scores = seqloom.evaluate(model, data).scores
    return next(each.value for each in scores if each.name == "calibration error")


@pytest.mark.parametrize("kind", MADE)
def test_confidences_fit_and_outputs_stay(kind: str, command: Command, tmp_path: Path) -> None:
    """Learnt from smoothed labels, a model says 50 % where 90 % of its outputs are right."""
    train, valid, test = (
        write(tmp_path / f"{n}.tsv", MADE[kind](rows, seed=n))
        for n, rows in ((1, 150), (2, 150), (3, 150))
    )
    run, sets = tmp_path / "run", [word for each in SETTINGS for word in ("--set", each)]
    asked = ("train", train, "--valid", valid, "--target", f"2:{kind}", "--run", run)
    assert command(*asked, *sets).code == 0
    told = command("evaluate", run, test)
    shown = json.loads(command("evaluate", run, test, "--json").out)
    assert 0 < shown["temperature"] < 0.7
    assert f"confidences at temperature {shown['temperature']:.2f}" in told.out
    fitted, before = load(run), unfitted(run)
    assert error_of(fitted, test) < 0.6 * error_of(before, test)
    sources = [source for source, _ in MADE[kind](40, seed=4)]
    three = OutputOptions(alternatives=3)
    pairs = zip(*(each.predict(sources, options=three) for each in (fitted, before)), strict=True)
    for new, old in pairs:
        assert new.text == old.text
        ranked = [
            [[other.text for other in token.alternatives] for token in each.tokens]
            for each in (new, old)
        ]
        assert ranked[0] == ranked[1]
