"""A finished model in use (S7.4; RELIABILITY C2): laws of `Model`."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF

import seqloom
from seqloom.api.load import load_text_predictor
from seqloom.errors import ConfigError
from seqloom.fields import END, UNK
from seqloom.prediction import Output, TextPredictor
from tests.counts import count
from tests.runs.finished import make_run
from tests.runs.support import PAIRS, PRESETS

SOURCES = [source for source, _ in PAIRS]


@pytest.fixture(scope="module", params=PRESETS)
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TextPredictor:
    return load_text_predictor(make_run(tmp_path_factory.mktemp("run"), request.param))


def same(one: Output, other: Output) -> bool:
    """Equal up to rounding in the scores."""
    return (one.text, one.stopped) == (other.text, other.stopped) and bool(
        np.isclose(one.score, other.score, atol=1e-4)
    )


def test_the_score_of_an_output_is_what_scoring_it_gives(model: TextPredictor) -> None:
    """C2: score(predict(x)) == the reported score, and its tokens' scores add up to it."""
    for search in (seqloom.Greedy(), seqloom.Beam(4)):
        outputs = model.predict(SOURCES[: count(50, 64)], search=search)
        ended = [
            (source, output)
            for source, output in zip(SOURCES, outputs, strict=False)
            if output.stopped == "end" and output.text.strip()
        ]
        assert len(ended) >= 10
        scored = model.score([(source, output.text) for source, output in ended])
        for (_, output), again in zip(ended, scored, strict=True):
            assert [t.text for t in again.tokens] == [t.text for t in output.tokens]
            assert again.log_probability == pytest.approx(output.score, abs=1e-4)
            assert sum(t.log_probability for t in output.tokens) == pytest.approx(output.score)


def test_batch_mates_and_order_change_nothing(model: TextPredictor) -> None:
    """C2: an input has the same output alone, among others, and in any order."""
    sources = [source[: 1 + number % 3] for number, source in enumerate(SOURCES)]
    together = model.predict(sources)
    shuffled = list(range(len(sources)))
    random.Random(3).shuffle(shuffled)
    again = model.predict([sources[number] for number in shuffled])
    for place, number in enumerate(shuffled):
        assert same(again[place], together[number])
    for number in range(0, len(sources), 8):
        assert same(model.predict([sources[number]])[0], together[number])


def test_groups_are_read_as_they_are_needed(model: TextPredictor) -> None:
    """A long stream is taken a group at a time, and the first outputs come after the first."""
    pulled = 0

    def lines() -> Iterator[str]:
        nonlocal pulled
        for number in range(50_000):
            pulled += 1
            yield SOURCES[number % 7] if number % 5 else ""

    outputs = model.stream(lines(), search=seqloom.Greedy(), group=64)
    first = next(outputs)
    assert pulled <= 64 + 1
    assert first.stopped == "blank"
    for _ in range(200):
        next(outputs)
    assert pulled <= 64 * 4 + 1


def test_blank_inputs_have_blank_outputs_in_their_place(model: TextPredictor) -> None:
    outputs = model.predict(["", SOURCES[0], " \t", SOURCES[1]])
    assert [output.stopped == "blank" for output in outputs] == [True, False, True, False]
    assert outputs[0].text == outputs[2].text == ""
    assert same(outputs[1], model(SOURCES[0]))


def test_no_inputs_no_outputs(model: TextPredictor) -> None:
    assert model.predict([]) == []


def test_n_best(model: TextPredictor) -> None:
    """Distinct outputs, the best first and equal to the output, by falling normalised score."""
    for output in model.predict(SOURCES[:10], search=seqloom.Beam(6), n_best=4):
        ranks = [each.normalised for each in output.n_best]
        assert len(output.n_best) == 4
        assert ranks == sorted(ranks, reverse=True)
        assert same(output.n_best[0], output)
        assert len({tuple(t.text for t in each.tokens) for each in output.n_best}) == 4


def test_searches_that_cannot_give_what_is_asked(model: TextPredictor) -> None:
    with pytest.raises(ConfigError, match="a beam of 2 cannot give 3 outputs"):
        model.predict(["a"], search=seqloom.Beam(2), n_best=3)
    with pytest.raises(ConfigError, match="greedy search gives one output"):
        model.predict(["a"], search=seqloom.Greedy(), n_best=2)


def test_attention_is_a_distribution_over_the_source(model: TextPredictor) -> None:
    """S4.6: a row for each token written, a column for each symbol read, rows sum to 1."""
    for output in model.predict(SOURCES[:8], attention=True):
        assert output.attention is not None
        assert output.attention.shape == (len(output.tokens), len(output.source))
        assert np.allclose(output.attention.sum(axis=1), 1.0, atol=1e-5)
        assert (output.attention >= 0).all()
    assert model.predict(SOURCES[:1])[0].attention is None
    assert model(SOURCES[0]).attention is not None


def test_input_that_is_too_long_is_cut_and_said_to_be(model: TextPredictor) -> None:
    """S1.6: it is read up to data.max_source tokens."""
    limit = model.config.data.max_source
    long, cut = model.predict(["a" * (limit + 50), "a" * limit], search=seqloom.Greedy())
    assert (long.truncated, cut.truncated) == (True, False)
    assert same(long, cut)


def test_unseen_symbols_are_read_as_unknown(model: TextPredictor) -> None:
    output = model("åßç")
    assert model.source.rows(["åßç"])[0].tolist() == [UNK, UNK, UNK, END]
    assert output.source == ("å", "ß", "ç", "<end>")
    assert output.source_offsets == ((0, 1), (1, 2), (2, 3), (3, 3))


def test_tokens_know_where_they_stand_in_what_was_read_and_written(model: TextPredictor) -> None:
    limit = model.config.data.max_source
    for output, given in zip(
        model.predict([SOURCES[0], "b" * (limit + 9)]), [SOURCES[0], "b" * limit], strict=True
    ):
        read = [given[start:end] for start, end in output.source_offsets]
        assert "".join(read) == given
        assert [token.offsets for token in output.tokens][-1] == (len(output.text),) * 2
        assert output.text == "".join(
            output.text[slice(*token.offsets or ())] for token in output.tokens
        )


def test_an_output_is_plain_json(model: TextPredictor) -> None:
    """The same values come back from JSON."""
    output = model.predict(SOURCES[:1], search=seqloom.Beam(3), n_best=2, attention=True)[0]
    plain = output.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["text"] == output.text
    assert [each["text"] for each in plain["n_best"]] == [each.text for each in output.n_best]
    assert plain["tokens"][-1]["log_probability"] == output.tokens[-1].log_probability


def test_evaluation_is_sacrebleu_on_the_outputs(model: TextPredictor, tmp_path: Path) -> None:
    """chrF is that of sacrebleu; exact match and perplexity by hand; single words have no BLEU."""
    rows = PAIRS[:40]
    outputs = [each.text for each in model.predict([s for s, _ in rows], search=seqloom.Greedy())]
    references = [target for _, target in rows]
    found = seqloom.evaluate(model, rows, search=seqloom.Greedy())
    scores = {score.name: score for score in found.scores}
    assert found.report.kept == 40
    assert list(scores) == ["exact match", "chrF", "WER", "CER", "perplexity"]
    assert scores["chrF"].value == pytest.approx(CHRF().corpus_score(outputs, [references]).score)
    exact = sum(o == r for o, r in zip(outputs, references, strict=True))
    assert scores["exact match"].value == pytest.approx(100 * exact / 40)
    scored = model.score(rows)
    tokens = sum(len(each.tokens) for each in scored)
    nats = -sum(each.log_probability for each in scored)
    assert scores["perplexity"].value == pytest.approx(np.exp(nats / tokens), rel=1e-6)
    for score in found.scores:
        assert score.interval.low <= score.value <= score.interval.high
