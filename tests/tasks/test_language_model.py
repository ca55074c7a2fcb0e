"""S1.2, S6.2, S8: language models of streams, from a text file to its continuation."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.report import report
from seqloom.api.train import train
from seqloom.baselines import ngrams
from seqloom.config import TextConfig, merge
from seqloom.errors import ConfigError
from seqloom.prediction import TextPredictor
from seqloom.runs.progress import Plan, SilentObserver
from seqloom.search import Greedy, Sample
from seqloom.tasks import Evaluation
from tests.runs.support import Watching, assert_same, at, interrupt, last, tensors

LINES = [f"{a} {b} said {c}" for a in ("he", "she", "one") for b in ("so", "to") for c in "abcde"]
TEXT = "\n".join(line if number % 5 else "" for number, line in enumerate(LINES * 3))
SMALL: dict[str, Any] = {
    "source": {"kind": "none"},
    "data": {"valid_share": 0.1},
    "model": {"embedding": 8, "tie_output": False, "decoder": {"width": 8, "layers": 1}},
    "training": {
        "updates": 14,
        "batch_tokens": 128,
        "truncate": 16,
        "validate_every": 5,
        "warmup": 2,
        "workers": 1,
        "curves": False,
    },
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of nearly two epochs in 8 lanes."""
    run = tmp_path_factory.mktemp("whole") / "run"
    train(str(text), run, options=SMALL)
    return run


@pytest.fixture(scope="module")
def model(whole: Path) -> TextPredictor:
    found = load(whole)
    assert isinstance(found, TextPredictor)
    return found


@pytest.mark.faults
def test_resumed_anywhere_it_ends_the_same(text: Path, whole: Path, tmp_path: Path) -> None:
    """A3 for what is carried from chunk to chunk, which lies in the step: bit for bit."""
    run = tmp_path / "run"
    for step in (3, 4, 11):
        with pytest.raises(BaseException, match=f"step {step} is saved"):
            train(str(text), run, options=SMALL, watch=at(step, interrupt))
        assert "carried" in last(run).names()
    train(str(text), run, options=SMALL)
    assert_same(run, whole)
    assert tensors(last(run))["carried"].keys() >= {"lanes/0", "lanes/1"}


@pytest.mark.faults
def test_two_workers_read_lanes_of_their_own(text: Path, tmp_path: Path) -> None:
    """Without dropout all losses are those of one worker, to rounding, also after one has left."""
    found: dict[int, list[float]] = {}
    for workers in (1, 2):
        losses = found.setdefault(workers, [])
        options = merge(SMALL, {"training": {"workers": workers, "updates": 9}})
        options = merge(options, {"model": {"decoder": {"dropout": 0.0}}})
        watch = Watching(lambda update, losses=losses: losses.append(update.loss))  # type: ignore[misc]
        train(str(text), tmp_path / str(workers), options=options, watch=watch)
    assert found[2] == pytest.approx(found[1], abs=1e-5)
    one, two = (tensors(last(tmp_path / name))["carried"] for name in ("1", "2"))
    for name, value in one.items():
        np.testing.assert_allclose(value.numpy(), two[name].numpy(), atol=1e-4)


def test_other_lanes_begin_anew_and_say_so(text: Path, whole: Path, tmp_path: Path) -> None:
    """A run goes on with another batch; the state that does not fit it is left behind."""
    run = tmp_path / "run"
    train(str(text), run, options=merge(SMALL, {"training": {"updates": 5}}))
    notes: list[str] = []

    class Notes(SilentObserver):
        def on_start(self, plan: Plan) -> None:
            notes.extend(plan.notes)

    wider = merge(SMALL, {"training": {"updates": 6, "batch_tokens": 64}})
    train(str(text), run, options=wider, watch=Notes())
    assert any("lanes of the text are others" in note for note in notes)


def test_the_plan_of_a_text_file(model: TextPredictor) -> None:
    """A stream of characters, read by an LSTM; the run remembers that."""
    config = model.config
    assert isinstance(config.target, TextConfig)
    assert (config.data.lines, config.target.unit) == ("stream", "character")
    assert (config.model.encoder.kind, config.model.decoder.kind) == ("none", "recurrent")
    assert model.is_stream
    assert model.is_language_model


def test_a_continuation_begins_with_the_beginning(model: TextPredictor) -> None:
    """And is as long as asked for; a blank line begins nothing, what is unknown stays as it is."""
    beginnings = ["he so", "", "one ü ", "x\ny"]
    for search in (None, Greedy(), Sample(seed=3)):
        outputs = model.predict(beginnings, search=search)
        for beginning, output in zip(beginnings, outputs, strict=True):
            assert output.text.startswith(beginning)
            assert len(output.text) == len(beginning) + model.config.search.length
            assert output.stopped == "length"
    assert model.predict(["he so"]) == model.predict(["he so"])
    assert len(set(model.predict([""] * 3))) == 3


def test_outputs_do_not_depend_on_the_group(model: TextPredictor) -> None:
    beginnings = [line[:4] for line in LINES[:7]]
    whole = [output.text for output in model.stream(beginnings)]
    assert whole == [output.text for output in model.stream(beginnings, group=3)]


def test_perplexity_by_hand(model: TextPredictor, tmp_path: Path) -> None:
    """exp of the mean surprise of all characters, each after all before it; bits are nats / log 2;
    the same whether the text is scored line by line or as one."""
    path = tmp_path / "test.txt"
    path.write_text("he so said a\n\nshe to said b\n", encoding="utf-8")
    found = {score.name: score for score in evaluate(model, str(path)).scores}
    letters = list(path.read_text(encoding="utf-8"))
    together = model.score_text(letters)
    nats = -sum(each.log_probability for each in together) / len(letters)
    assert found["perplexity"].value == pytest.approx(math.exp(nats), rel=1e-5)
    assert found["nats per character"].value == pytest.approx(nats, rel=1e-5)
    assert found["bits per character"].value == pytest.approx(nats / math.log(2), rel=1e-5)
    assert f"characters:{len(letters)}" in found["bits per character"].signature


def test_what_is_foretold_is_not_searched_for(model: TextPredictor, text: Path) -> None:
    """Rather than passing over what was asked."""
    with pytest.raises(ConfigError, match="foretells given texts and does not search; leave"):
        evaluate(model, str(text), search=Greedy())
    with pytest.raises(ConfigError, match="lowercase=: compares written texts, and a language mod"):
        evaluate(model, str(text), lowercase=True)


def test_ngrams_stand_beside(
    model: TextPredictor, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as the rows learnt from are there; of a long text, the end is counted."""
    found = evaluate(model, str(text))
    assert isinstance(found, Evaluation)
    assert list(found.baselines) == ["7-grams", "7-grams by character"]
    assert found.baselines["7-grams"].value < found.scores[0].value  # it has seen the text
    assert "baselines" in found.as_dict()
    monkeypatch.setattr(ngrams, "MAX_TOKENS", 50)
    fewer = evaluate(model, str(text))
    assert isinstance(fewer, Evaluation)
    name = "7-grams of the last 50 tokens"
    assert next(iter(fewer.baselines)) == name
    assert fewer.baselines[name].value > found.baselines["7-grams"].value
    gone = TextPredictor(
        model.config, model.source, model.target, model.network, training_rows=Path("nowhere")
    )
    assert "nowhere are gone" in evaluate(gone, str(text)).lines()[-1]


def test_words_of_a_stream(tmp_path: Path) -> None:
    """Symbols with the line end among them; a Transformer begins every chunk anew."""
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    options = merge(SMALL, {"target": {"unit": "symbol"}, "training": {"updates": 3}})
    del options["model"]
    shape = {"width": 8, "inner": 8, "heads": 2, "layers": 1}
    options["model"] = {"embedding": 8, "decoder": shape}
    train(str(path), tmp_path / "run", model="transformer", options=options)
    found = load(tmp_path / "run")
    assert isinstance(found, TextPredictor)
    assert found.predict(["he \n so"])[0].text.startswith("he \n so ")
    scores = evaluate(found, str(path)).scores
    words = sum(len(line.split()) + 1 for line in TEXT.split("\n"))
    assert scores[0].signature.endswith(f"tokens:{words}")


def test_what_cannot_be_a_stream(text: Path, tmp_path: Path) -> None:
    for options, sentence in (
        ({"data": {"lines": "stream"}}, "'source': {'kind': 'none'}"),
        (merge(SMALL, {"data": {"weight": "2"}}), "no meaning in a stream"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            train(str(text), tmp_path / "run", options=options)


def test_a_report_ranks_lines_by_what_a_character_costs(whole: Path) -> None:
    """S9: the sum over lines is what the whole text costs by the metric."""
    made = report(whole)
    nats = {each.name: each.value for each in made.scores}["nats per character"]
    characters = [len(row.reference) for row in made.report_rows]  # which end in their line ends
    total = -sum(
        row.quality * count for row, count in zip(made.report_rows, characters, strict=True)
    )
    assert total / sum(characters) == pytest.approx(nats, rel=1e-6)
    assert '<th dir="auto">source</th>' not in made.page()
    assert made.views_heading == "What mattered in three examples"
