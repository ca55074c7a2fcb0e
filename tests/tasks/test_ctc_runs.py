"""Runs that write by CTC alone: from files to outputs, and back from the run directory (S1.1)."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import seqloom
from seqloom.api.describe import describe
from seqloom.api.evaluate import evaluate
from seqloom.api.load import load_text_predictor
from seqloom.api.train import train
from seqloom.errors import ConfigError, DataError
from seqloom.explanations.attention import attention_of
from seqloom.prediction import Output
from seqloom.search import BestPath, PrefixBeam
from seqloom.tasks import explain_output
from tests.runs.media_runs import sound_options, sounds_

__all__ = ["sounds_"]

LETTERS = "abc"


def options(**training: Any) -> dict[str, Any]:
    stack = {"kind": "recurrent", "width": 16, "layers": 1, "dropout": 0.0}
    return {
        "source": {"unit": "character"},
        "target": {"unit": "character"},
        "data": {"valid_share": 0.2},
        "model": {"embedding": 8, "encoder": stack, "decoder": {"kind": "ctc", "dropout": 0.0}},
        "training": {"updates": 150, "validate_every": 50, "rate": 0.02, **training},
    }


@pytest.fixture(name="pairs", scope="module")
def pairs_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every letter comes twice or thrice in the source, and once in the target."""
    torch.manual_seed(1)
    rows = []
    for _ in range(120):
        letters = [
            LETTERS[n] for n in torch.randint(0, 3, (int(torch.randint(1, 5, ())),)).tolist()
        ]
        source = "".join(letter.upper() + letter for letter in letters)
        rows.append(f"{source}\t{''.join(letters)}\n")
    path = tmp_path_factory.mktemp("ctc") / "pairs.tsv"
    path.write_text("".join(rows))
    return path


@pytest.fixture(name="run", scope="module")
def run_(pairs: Path) -> Path:
    train(pairs, pairs.with_name("run"), options=options())
    return pairs.with_name("run")


def test_a_run_is_trained_used_and_explained(pairs: Path, run: Path) -> None:
    """Repeats too come out, scores are sums over alignments, and symbols lie where they begin."""
    model = load_text_predictor(run)
    scores = {score.name: score.value for score in evaluate(model, pairs).scores}
    assert scores["exact match"] >= 95
    assert model.describe_search() == {"kind": "prefix-beam"}
    (output,) = model.predict(["AaBbBbCc"], attention=True)
    assert output.text == "abbc"
    (scored,) = model.score([("AaBbBbCc", "abbc")])
    assert output.score == pytest.approx(scored.log_probability, abs=1e-5)
    for search in (BestPath(), PrefixBeam(4), seqloom.Greedy(), seqloom.Beam(3)):
        assert model.predict(["AaBbBbCc"], search=search)[0].text == "abbc"
    assert Output.from_dict(json.loads(json.dumps(output.as_dict()))).text == "abbc"
    assert output.attention is not None
    begins = output.attention[:4].argmax(axis=1)
    assert (begins[1:] > begins[:-1]).all()
    explained = explain_output(model, "AaBbBbCc")
    (layer,) = attention_of(model, explained).select_layers("cross")
    assert layer.weights[0][:4].argmax(axis=1).tolist() == begins.tolist()
    assert any("decoder: output layer" in line for line in describe(run).lines())


def test_what_does_not_fit_its_source_has_probability_0(run: Path) -> None:
    (scored,) = load_text_predictor(run).score([("Aa", "aaaa")])
    assert scored.log_probability == -math.inf


def test_an_ensemble_writes_as_its_members_do(run: Path) -> None:
    both = seqloom.load(run, run)
    assert both.predict(["CcAa"])[0].text == "ca"


def test_two_sittings_leave_the_same_weights(pairs: Path, tmp_path: Path) -> None:
    chosen = options(updates=4, validate_every=2)
    train(pairs, tmp_path / "one", options=chosen)
    train(pairs, tmp_path / "two", options=chosen, until=2)
    train(pairs, tmp_path / "two", options=chosen)
    one, two = (
        load_text_predictor(tmp_path / name).network.state_dict() for name in ("one", "two")
    )
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_sound_is_written_by_ctc_alone(sounds: Path, tmp_path: Path) -> None:
    chosen = sound_options(updates=2, validate_every=2)
    front = {"kind": "sound", "width": 8, "halvings": 1}
    chosen["model"] |= {"decoder": {"kind": "ctc"}, "front": front}
    train(sounds, tmp_path / "run", options=chosen)
    assert evaluate(load_text_predictor(tmp_path / "run"), sounds).report.kept == 16


def test_a_target_longer_than_its_source_is_named(pairs: Path, tmp_path: Path) -> None:
    """With its row, what it needs and what to do, before anything is learnt."""
    bad = tmp_path / "bad.tsv"
    bad.write_text(pairs.read_text() + "AB\taabb\n")
    problem = r"bad\.tsv:121: the target has 4 symbols, which take 6 steps with a blank between"
    with pytest.raises(DataError, match=rf"{problem}.* only 3 steps .*; cut the source .* or "):
        train(bad, tmp_path / "run", valid=bad, options=options())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"training": {"truncate": 3}}, "needs whole targets; set training.truncate=0"),
        ({"model": {"ctc": 0.3, "decoder": "ctc"}}, "has no other; set model.ctc=0"),
        ({"model": {"reverse_source": True, "decoder": "ctc"}}, "set model.reverse_source=false"),
        ({"target": "label", "model": {"decoder": "ctc"}}, "a model of labels judges; leave it"),
    ],
)
def test_what_cannot_be_is_refused_at_once(
    pairs: Path, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    chosen = {**options(), **changed}
    if "training" in changed:
        chosen["training"] = {**options()["training"], **changed["training"]}
    with pytest.raises(ConfigError, match=message):
        train(pairs, tmp_path / "run", options=chosen)
    assert not (tmp_path / "run").exists()
