"""When training ends, and what is said of a model that has learnt nothing (S6.6)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.data import Corpus
from seqloom.errors import DivergedError
from seqloom.runs.held_out import diagnose, symbol_guess_loss
from seqloom.runs.progress import Monitor, SilentObserver, Validation
from seqloom.store import RunDirectory
from tests.runs.support import PAIRS, history, last, options, trained

GOOD = Validation(10, loss=0.5, metric=90.0, training=0.7, outputs=9)


class Words(SilentObserver):
    """Remembers how training ended."""

    def __init__(self) -> None:
        self.end = ""
        self.warnings: list[str] = []

    def on_end(self, sentence: str) -> None:
        self.end = sentence

    def on_warning(self, sentence: str) -> None:
        self.warnings.append(sentence)


def ended(run: Path, **training: Any) -> Words:
    words = Words()
    train(PAIRS, run, options=options(**training), watch=words)
    return words


@pytest.mark.parametrize(
    ("monitor", "target"), [("loss", 100.0), ("metric", 0.001)], ids=["loss", "metric"]
)
def test_a_target_that_is_reached(monitor: Monitor, target: float, tmp_path: Path) -> None:
    """At the first validation that is as good; the run stays finished, and without goal goes on."""
    chosen: dict[str, Any] = {"monitor": monitor, "rate": 2e-2, "dropout": 0.0, "updates": 200}
    words = ended(tmp_path / "run", target=target, **chosen)
    assert words.end.startswith(f"the target of {target:g} is reached")
    results = [Validation(**each) for each in history(tmp_path / "run")]
    reached = [each.step for each in results if each.reaches(target, monitor)]
    assert reached == [results[-1].step]
    assert last(tmp_path / "run").number == results[-1].step
    assert ended(tmp_path / "run", target=target, **chosen).end == words.end
    assert last(tmp_path / "run").number == results[-1].step
    more = {**chosen, "updates": results[-1].step + 4}
    assert ended(tmp_path / "run", target=0, **more).end.startswith("all updates are made")


def test_a_target_out_of_reach_stops_nothing(tmp_path: Path) -> None:
    for monitor, target in (("loss", 1e-9), ("metric", 101.0)):
        words = ended(tmp_path / monitor, updates=4, monitor=monitor, target=target)
        assert words.end.startswith("all updates are made")


def test_the_time_is_used_up(tmp_path: Path) -> None:
    """The step at which it is noticed is validated and saved; with more time the run goes on."""
    words = ended(tmp_path / "run", minutes=1e-9)
    assert words.end.startswith("the time of 1e-09 minutes is used up; the best step is 1")
    assert [each["step"] for each in history(tmp_path / "run")] == [1]
    assert ended(tmp_path / "run", minutes=1e-9).end == words.end
    assert last(tmp_path / "run").number == 1
    assert ended(tmp_path / "run", minutes=1e9).end.startswith("all updates are made")
    assert load(tmp_path / "run")("aei").stopped in ("end", "length")


@pytest.mark.parametrize("ending", [{"minutes": 1e-9}, {"target": 0.001}, {"patience": 1}, {}])
def test_the_best_step_is_always_kept(ending: dict[str, Any], tmp_path: Path) -> None:
    """Whatever ended the run, the best step is there and is the one that is loaded."""
    run = tmp_path / "run"
    best = train(PAIRS, run, options=options(validate_every=2, rate=1.0, **ending)).best
    (step,) = [each for each in RunDirectory(run).checkpoints() if each.number == best.step]
    step.verify()
    values = [Validation(**each).value("metric") for each in history(run)]
    assert best.metric == max(values)


def test_verdicts() -> None:
    """The gravest failing is named; a model that learns has none."""
    risen = replace(GOOD, step=20, training=1.6)
    same = replace(GOOD, step=20, outputs=1)
    poor = replace(GOOD, loss=3.0)
    assert diagnose([GOOD], guessing=3.0) is None
    assert diagnose([poor, GOOD], guessing=3.0) is None
    assert diagnose([risen, GOOD], guessing=3.0) is None
    assert diagnose([replace(GOOD, outputs=0)], guessing=3.0) is None
    found = [diagnose(each, guessing=3.0) for each in ([GOOD, risen], [GOOD, same], [poor])]
    assert [each and each.name for each in found] == [
        "diverged",
        "same output",
        "no better than guessing",
    ]
    both = diagnose([GOOD, replace(risen, outputs=1, loss=9.0)], guessing=3.0)
    assert both is not None
    assert both.name == "diverged"
    for verdict in found:
        assert verdict is not None
        assert "training." in verdict.sentence
        assert len(verdict.sentence.splitlines()) == 1


def test_guessing_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The held-out cross-entropy of the training tokens' shares, each counted once more; however
    long the stretches are that tokens are counted in."""
    trained(tmp_path / "run", options(updates=1))
    learnt, asked = (Corpus.open(tmp_path / "run" / "cache" / side) for side in ("train", "valid"))
    items = load(tmp_path / "run").target.items
    counts = [1.0] * items.count
    for row in learnt.batch(np.arange(len(learnt))).target:
        for token in row:
            counts[token] += 1
    tokens = [token for row in asked.batch(np.arange(len(asked))).target for token in row]
    expected = -sum(np.log(counts[token] / sum(counts)) for token in tokens) / len(tokens)
    assert symbol_guess_loss(learnt, asked, items.count) == pytest.approx(expected)
    monkeypatch.setattr("seqloom.runs.held_out.CHUNK_SIZE", 7)
    assert symbol_guess_loss(learnt, asked, items.count) == pytest.approx(expected)


def test_a_model_that_learns_nothing_is_named_once(tmp_path: Path) -> None:
    """In the console, among the events, and in what `train` gives back."""
    run = tmp_path / "run"
    words = ended(run, updates=4, rate=1e-12)
    assert len(words.warnings) == 1
    again = train(PAIRS, run, options=options(updates=4, rate=1e-12))
    assert again.diagnosis == words.warnings[0]
    (event,) = [each for each in RunDirectory(run).events() if each["event"] == "verdict"]
    assert event["sentence"] == words.warnings[0]
    assert event["step"] == 4


def test_the_same_output_to_every_input(tmp_path: Path) -> None:
    """Where the source says nothing about the target, the commonest target is all there is."""
    rows = [(source, "no" if number % 8 else "yes") for number, (source, _) in enumerate(PAIRS)]
    chosen = options(updates=30, validate_every=30, rate=2e-2, dropout=0.0, average="none")
    words = Words()
    train(rows, tmp_path / "run", valid=rows[:16], options=chosen, watch=words)
    assert words.warnings[0].startswith("the model gives the same output to every input")


def test_a_rate_that_undoes_what_was_learnt(tmp_path: Path) -> None:
    """Numbers that stay finite can diverge too."""
    run = tmp_path / "run"
    calm: dict[str, Any] = {"dropout": 0.0, "average": "none", "decay": "constant", "patience": 0}
    ended(run, updates=40, validate_every=40, rate=1e-2, **calm)
    words = ended(run, updates=70, validate_every=70, rate=5.0, **calm)
    assert "training diverges; lower training.rate" in words.warnings[0]


def test_leaving_the_finite_numbers_is_an_event(tmp_path: Path) -> None:
    chosen = options(rate=1e38, clip_norm=0, warmup=0)
    with pytest.raises(DivergedError) as caught:
        trained(tmp_path / "run", chosen)
    (event,) = [
        each for each in RunDirectory(tmp_path / "run").events() if each["event"] == "diverged"
    ]
    assert event["why"] == str(caught.value)
