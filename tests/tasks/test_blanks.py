"""S8, fill-in: texts with gaps from end to end, beside pairs of neighbours."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seqloom.api.describe import check_data, describe
from seqloom.api.evaluate import evaluate, score_rows
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.baselines.bigrams import PAIR_WEIGHT, Bigrams
from seqloom.config import BlanksConfig, merge
from seqloom.data import Corpus, Data
from seqloom.errors import ConfigError, DataError
from seqloom.fields import BLANK, EMPTY, END, BlanksField
from seqloom.model import HeadModel, Source
from seqloom.prediction import MaskFiller, OutputOptions, ensemble
from seqloom.runs.request import TrainingRequest
from seqloom.search import Greedy
from seqloom.tasks import BLANKS, Evaluation, task_of_options
from seqloom.training import Example, measure
from seqloom.training.loss import LossOptions, backward
from tests.runs.support import assert_same, sitting
from tests.tasks.blank_texts import KINDS, TEXTS, WORDS, chosen


@pytest.fixture(scope="module", params=KINDS)
def learnt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learnt the texts by heart."""
    run = tmp_path_factory.mktemp(request.param) / "run"
    training = {"updates": 400, "batch_tokens": 256, "validate_every": 50, "rate": 0.02}
    settings = chosen(request.param, **training, target=100.0)
    if request.param == "transformer":
        settings["target"]["share"] = 0.3
    file = run.with_name("texts.txt")
    file.write_text("".join(f"{text}\n" for text in TEXTS))
    train(str(file), run, valid=str(file), options=settings)
    return run


def filler(run: Path) -> MaskFiller:
    model = load(run)
    assert isinstance(model, MaskFiller)
    return model


def evaluated(model: MaskFiller, data: Data, **options: Any) -> Evaluation:
    found = evaluate(model, data, **options)
    assert isinstance(found, Evaluation)
    return found


def test_gaps_are_not_searched_for(learnt: Path) -> None:
    """Rather than passing over what was asked."""
    model = filler(learnt)
    with pytest.raises(ConfigError, match="a model of gaps fills them in and does not search"):
        evaluate(model, TEXTS, search=Greedy())
    with pytest.raises(ConfigError, match="lowercase=: compares written texts, and a model of gap"):
        evaluate(model, TEXTS, lowercase=True)


def test_a_tiny_text_is_learnt_perfectly(learnt: Path) -> None:
    """Every token of every row, each from all others, where pairs of neighbours only guess."""
    model = filler(learnt)
    found = evaluated(model, TEXTS)
    assert found.scores[0].name == "accuracy"
    assert found.scores[0].value == 100
    assert found.scores[0].signature == "rows:25|blanks:200"
    assert found.baselines["two-sided bigrams"].value < 75
    outputs = model.predict(["red and ___ but old or old .", "", r"\___  and new but ___ or red ."])
    assert [output.text for output in outputs] == [
        "red and red but old or old .",
        "",
        "___  and new but red or red .",
    ]
    assert model.head.around == ("lstm" in str(learnt))


def test_outputs_tell_the_best_alternatives_at_every_gap(learnt: Path) -> None:
    """Their probabilities are those of a distribution over what can fill a gap (S7.4)."""
    model = filler(learnt)
    (output,) = model.predict(["___ and red but ___ or old ."])
    assert [len(token.alternatives) for token in output.tokens] == [5, 5]
    most = int(model.target.fillable.sum())
    (output,) = model.predict(
        ["___ and red but ___ or old ."], options=OutputOptions(alternatives=99)
    )
    for token in output.tokens:
        assert len(token.alternatives) == most
        assert token.alternatives[0].text == token.text
        total = sum(math.exp(each.log_probability) for each in token.alternatives)
        assert total == pytest.approx(1, abs=1e-5)
    assert output.score == pytest.approx(sum(token.log_probability for token in output.tokens))
    assert output.source == ("___", "and", "red", "but", "___", "or", "old", ".", "<end>")
    assert json.loads(json.dumps(output.as_dict()))["text"] == output.text


def test_scores_are_those_of_one_gap_at_a_time(learnt: Path) -> None:
    """Brute force: mark each token in turn, and look its probability up."""
    model, text = filler(learnt), TEXTS[3]
    (scored,) = model.score([(text, text)])
    words = text.split()
    for place, (word, token) in enumerate(zip(words, scored.tokens, strict=True)):
        gapped = " ".join([*words[:place], "___", *words[place + 1 :]])
        (output,) = model.predict([gapped], options=OutputOptions(alternatives=99))
        likely = {each.text: each.log_probability for each in output.tokens[0].alternatives}
        assert token.text == word
        assert token.log_probability == pytest.approx(likely[word], abs=1e-5)
    (row,) = score_rows(model, [text])
    assert row["score"] == pytest.approx(scored.log_probability, abs=1e-5)
    with pytest.raises(DataError, match="pair 1: a text is scored as it is"):
        model.score([(text, TEXTS[0])])


def test_what_cannot_be_is_null(learnt: Path) -> None:
    """JSON has no logarithm of 0: a word that is not known, its row's sum, and its perplexity."""
    (row,) = score_rows(filler(learnt), ["red and zebra but old or old ."])
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert (row["score"], row["perplexity"]) == (None, None)
    told = {token["text"]: token["log_probability"] for token in row["tokens"]}
    assert [text for text, value in told.items() if value is None] == ["<unk>"]
    assert all(token.keys() == {"text", "log_probability"} for token in row["tokens"])


def test_models_fill_in_together(learnt: Path) -> None:
    """A model with itself is that model (S7.4)."""
    model = filler(learnt)
    both = ensemble([model, model])
    assert isinstance(both, MaskFiller)
    line = "red and ___ but ___ or old ."
    assert both(line).text == model(line).text
    assert both(line).score == pytest.approx(model(line).score, abs=1e-4)
    assert both.score([(TEXTS[0],) * 2])[0].log_probability == pytest.approx(
        model.score([(TEXTS[0],) * 2])[0].log_probability, abs=1e-4
    )


@pytest.mark.parametrize("preset", KINDS)
def test_resumed_is_as_if_never_stopped(preset: str, tmp_path: Path) -> None:
    """Blanks are drawn by step and row, so none has to be remembered."""
    settings = chosen(preset)
    train(TEXTS, tmp_path / "whole", options=settings)
    sitting(tmp_path / "parts", settings, until=5, data=TEXTS)
    train(TEXTS, tmp_path / "parts", options=settings)
    assert_same(tmp_path / "whole", tmp_path / "parts")


def test_only_gaps_cost(learnt: Path) -> None:
    """The loss is the mean over gaps of what the head says there, and nothing is asked elsewhere;
    an output layer that is called in chunks gives the gradient of one that is not."""
    model = filler(learnt)
    corpus = Corpus.open(learnt / "cache" / "train")
    masking = BLANKS.masking(model.config, model.target)
    assert masking is not None
    batch = masking.mask(corpus.batch(np.arange(6)), 2)
    source = Source(torch.from_numpy(batch.source), torch.from_numpy(batch.source_lengths))
    example = Example(source, torch.from_numpy(batch.target))
    network: HeadModel = model.network.eval()
    scores = network.head(network.encoder.encode(source))[:, : example.target.shape[1]]
    asked = example.target.ne(EMPTY)
    losses = network.head.losses(scores[asked], example.target[asked], smoothing=0.0)
    sums = measure(network, example, smoothing=0.0)
    assert sums.tokens == int(asked.sum())
    assert sums.loss == pytest.approx(float(losses.detach().sum()), rel=1e-5)
    network.zero_grad()
    losses.sum().backward()
    whole = {name: _slope(value) for name, value in network.named_parameters()}
    network.zero_grad()
    backward(network, example, LossOptions(0.0, 1.0))
    for name, value in network.named_parameters():
        torch.testing.assert_close(_slope(value), whole[name], rtol=1e-4, atol=1e-5)


def _slope(parameter: torch.nn.Parameter) -> torch.Tensor:
    assert parameter.grad is not None
    return parameter.grad.clone()


def test_a_gap_is_not_seen(learnt: Path) -> None:
    """Whatever was in a gap, its distribution is the same; what a position that is left out is
    read as is the gap's own vector, or nothing where no position is shown itself."""
    model = filler(learnt)
    encoder = model.network.eval().encoder
    assert isinstance(encoder, torch.nn.Module)
    (row,) = model.text_with_blanks.rows(["red and ___ but old or old ."])
    values = torch.from_numpy(row).long()[None]
    source = Source(values, torch.tensor([len(row)]))
    (table,) = (value for name, value in encoder.named_parameters() if name.endswith("table"))
    model.network.zero_grad()
    model.head.read(model.network.encoder.encode(source))[0, 2].sum().backward()
    assert bool(_slope(table)[BLANK].any()) != model.head.around
    if model.head.around:
        for token in model.source.encode(" ".join(WORDS)).tolist():
            values[0, 2] = token
            again = model.head.read(model.network.encoder.encode(source))[0, 2]
            values[0, 2] = BLANK
            hidden = model.head.read(model.network.encoder.encode(source))[0, 2]
            torch.testing.assert_close(again, hidden, rtol=0, atol=0)


def test_bigrams_are_hand_counts() -> None:
    """Three rows: aba, aca, ab. Every guess is the largest P(w | left) · P(right | w)."""
    a, b, c = 4, 5, 6
    text = [a, b, a, END, a, c, a, END, a, b, END]
    fillable = np.arange(7) > END
    counted = Bigrams.learn(np.array(text), fillable)
    pairs = list(zip([END, *text], text, strict=False))

    def likely(left: int, token: int, right: int) -> float:
        def share(before: int, after: int) -> float:
            came = sum(pair[0] == before for pair in pairs)
            usual = text.count(after) / len(text)
            return (
                PAIR_WEIGHT * pairs.count((before, after)) / max(1, came)
                + (1 - PAIR_WEIGHT) * usual
            )

        return share(left, token) * share(token, right)

    rows = ([a, b, a], [b, b], [c], [a, c, b, a], [1, a])
    for row in rows:
        closed = [END, *row, END]
        expected = [
            max((a, b, c), key=lambda token: likely(left, token, right))
            for left, right in zip(closed, closed[2:], strict=False)
        ]
        found = counted.guesses(np.array(row), np.arange(len(row)))
        assert found.tolist() == expected
    assert counted.guesses(np.array([a, c, a]), np.array([1])).tolist() == [b]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"source": {"unit": "subword"}}, "a blank cannot stand for a token of unit subword; set"),
        (
            {"source": {"unit": "symbol", "spelling": 9}},
            "a blank cannot stand for a token of letters of its own; set",
        ),
        ({"source": {"kind": "none"}}, "a source of kind none and blanks do not go together: "),
        (
            {"target": {"kind": "blanks", "kept": 0.6, "replaced": 0.6}},
            "are shares of one whole; lower one of them",
        ),
        (
            {"data": {"source": "a", "target": "b"}},
            "name its column with the option",
        ),
        (
            {"target": {"kind": "blanks", "marker": "a b"}},
            "target.marker = 'a b': a blank is marked by",
        ),
    ],
)
def test_what_cannot_be(settings: dict[str, Any], says: str) -> None:
    """One sentence, before anything is read."""
    with pytest.raises(ConfigError, match=says):
        task_of_options(TrainingRequest(TEXTS, options={**chosen(), **settings}))


def test_reading_around_is_for_gaps_alone() -> None:
    settings = merge(chosen(), {"target": {"kind": "text"}, "model": {"decoder": {"dropout": 0.1}}})
    with pytest.raises(ConfigError, match="direction = 'around' shows no position itself"):
        list(check_data(TrainingRequest([(text, text) for text in TEXTS], options=settings)))


def test_a_column_of_any_table_will_do(tmp_path: Path) -> None:
    """By name or position; `evaluate` can take another file's column."""
    table = tmp_path / "notes.tsv"
    table.write_text("day\tnote\n" + "".join(f"{n}\t{text}\n" for n, text in enumerate(TEXTS)))
    settings = merge(chosen(updates=2), {"data": {"source": "note"}})
    train(str(table), tmp_path / "run", options=settings)
    model = filler(tmp_path / "run")
    assert evaluated(model, str(table)).scores[0].signature == "rows:25|blanks:200"
    other = tmp_path / "other.tsv"
    other.write_text("".join(f"{text}\t{n}\n" for n, text in enumerate(TEXTS)))
    found = evaluated(model, str(other), options={"data": {"source": "1"}})
    assert found.scores[0].signature == "rows:25|blanks:200"


def test_unknown_words_are_never_right(learnt: Path) -> None:
    """They count among what is asked for, and have no perplexity."""
    model = filler(learnt)
    found = evaluated(model, ["red and red but purple or purple ."])
    assert found.scores[0].signature == "rows:1|blanks:8"
    assert found.scores[0].value <= 75
    assert found.scores[1].signature == "rows:1|tokens:6"
    assert found.baselines["two-sided bigrams"].value <= 75


def test_inputs_that_cannot_be_filled_in(learnt: Path) -> None:
    """RELIABILITY, inputs: the line, what is wrong, and the cure."""
    model = filler(learnt)
    with pytest.raises(DataError, match="^line 2: there is no blank to fill in; write ___ where"):
        model.predict(["red and ___", "red and red"])
    with pytest.raises(ConfigError, match="a model of blanks judges and does not search"):
        model.predict(["red and ___"], n_best=3)


def test_check_and_describe(learnt: Path) -> None:
    lines = list(check_data(TrainingRequest(TEXTS, options=chosen())))
    assert any(line.startswith("target: blanks for one symbol each") for line in lines)
    assert any(
        line.startswith("target: blanks for one symbol") for line in describe(learnt).lines()
    )


def test_a_vocabulary_that_grows_keeps_the_two_sides_alike(learnt: Path, tmp_path: Path) -> None:
    """S6.7: fine-tuning with new words."""
    more = [text.replace("red", "purple") for text in TEXTS]
    settings = {"training": {"updates": 2, "extend_vocabulary": True, "curves": False}}
    train(more, tmp_path / "run", options=settings, base=learnt)
    model = filler(tmp_path / "run")
    assert isinstance(model.target, BlanksField)
    assert model.target.items == model.source.items
    assert model.source.size == filler(learnt).source.size + 1
    assert isinstance(model.target.config, BlanksConfig)
