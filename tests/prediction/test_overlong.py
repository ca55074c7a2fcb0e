"""S1.6: inputs longer than a model takes are truncated, refused or split, as asked."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom
from seqloom.config import Config, DataConfig, TextConfig
from seqloom.config.columns import LabelConfig, TagsConfig
from seqloom.data import Columns, Corpus, FileLocation, Reason, Report, Row
from seqloom.errors import ConfigError, DataError, InputError
from seqloom.fields import LabelField, TagsField, TextField
from seqloom.prediction import Output, OutputOptions, TextPredictor
from tests.prediction.untrained import untrained
from tests.serving.kinds import made
from tests.serving.support import serving

SENTENCES = ["Ab c. ", "B a b a. ", "C x?\n", "Y y y."]  # of 2 to 4 words
LIMIT = 4
SPLIT = OutputOptions(overlong="split")


def limited(model: Any, overlong: str = "truncate", most: int = LIMIT) -> Any:
    data = model.config.data.model_copy(update={"max_source": most, "overlong": overlong})
    config: Config = model.config.model_copy(update={"data": data})
    return replace(model, config=config)


@pytest.fixture(scope="module", name="model")
def model_() -> Any:
    return limited(untrained(unit="symbol"))


def texts(outputs: Sequence[Output]) -> list[str]:
    return [each.text for each in outputs]


def test_pieces_are_predicted_as_if_given_one_by_one(model: TextPredictor) -> None:
    """The text, scores, tokens, source and attention of the whole are those of its pieces."""
    whole = "".join(SENTENCES)
    pieces = [piece.text for piece in model.source.split(whole, LIMIT)]
    assert len(pieces) > 2
    (joined,) = model.predict([whole], options=replace(SPLIT, attention=True))
    alone = model.predict(pieces, options=OutputOptions(attention=True))
    spaces = [piece.space for piece in model.source.split(whole, LIMIT)]
    assert joined.text == "".join(map(str.__add__, texts(alone), spaces))
    assert joined.pieces == joined.as_dict()["pieces"] == len(pieces)
    starts = [(0, 0), *joined.piece_ends[:-1]]
    for one, (first, begin), (last, end) in zip(alone, starts, joined.piece_ends, strict=True):
        assert joined.source[first:last] == one.source
        assert [each.text for each in joined.tokens[begin:end]] == [e.text for e in one.tokens]
    assert not joined.truncated
    assert joined.score == pytest.approx(sum(each.score for each in alone))
    assert joined.score == pytest.approx(sum(each.log_probability for each in joined.tokens))
    assert joined.source == tuple(token for each in alone for token in each.source)
    known = [range_ for range_ in joined.source_offsets if range_[0] < range_[1]]
    assert [whole[start:end].strip() for start, end in known] == whole.split()
    for token in joined.tokens:
        if token.offsets is not None and token.offsets[0] < token.offsets[1]:
            assert joined.text[slice(*token.offsets)].strip() == token.text
    assert joined.attention is not None
    assert joined.attention.shape == (len(joined.tokens), len(joined.source))
    assert np.allclose(joined.attention.sum(axis=1), 1.0)
    assert Output.from_dict(joined.as_dict()) == joined


def test_inputs_that_fit_are_as_before(model: TextPredictor) -> None:
    """Also beside one that is split, by every search: draws come from the line, not the piece."""
    inputs = ["ab c", "".join(SENTENCES), "", "b a b a"]
    for search in (None, seqloom.Sample(draws=2, seed=5), seqloom.Beam(3)):
        found = model.predict(inputs, search=search, options=SPLIT)
        without = model.predict(inputs, search=search)
        for place in (0, 2, 3):
            assert found[place].text == without[place].text
            assert found[place].score == pytest.approx(without[place].score)
        assert [each.pieces > 1 for each in found] == [False, True, False, False]
        assert [each.truncated for each in without] == [False, True, False, False]


def test_the_best_outputs_are_the_best_combinations(model: TextPredictor) -> None:
    """Against all combinations of the pieces' own N best."""
    whole = "".join(SENTENCES[:2])
    (joined,) = model.predict([whole], search=seqloom.Beam(3), n_best=3, options=SPLIT)
    pieces = [piece.text for piece in model.source.split(whole, LIMIT)]
    one, two = model.predict(pieces, search=seqloom.Beam(3), n_best=3)
    ranks = sorted(
        (
            (a.normalised * len(a.tokens) + b.normalised * len(b.tokens))
            / (len(a.tokens) + len(b.tokens))
            for a in one.n_best
            for b in two.n_best
        ),
        reverse=True,
    )
    assert [each.normalised for each in joined.n_best] == pytest.approx(ranks[:3])


def test_a_long_input_is_an_error_with_its_place(model: TextPredictor) -> None:
    """The outputs before it come first; nothing after it is read."""
    strict = limited(model, "error")
    stream = strict.stream(["a b", "", "".join(SENTENCES), "c"])
    assert [next(stream).stopped == "blank" for _ in range(2)] == [False, True]
    with pytest.raises(
        InputError, match="^line 3: the input has 12 tokens, and this model takes 4;"
    ):
        next(stream)
    assert strict.predict(["".join(SENTENCES)], options=SPLIT)[0].pieces > 1
    with pytest.raises(DataError, match="^pair 1: the input has 12 tokens"):
        strict.score([("".join(SENTENCES), "a")])


def test_scores_of_a_split_pair_add_up(model: TextPredictor) -> None:
    """Sentence by sentence; without as many in the target there is no score."""
    split = limited(model, "split")
    one, two = ("A b c a.", "X y."), ("B b a.", "A b c.")
    (whole,) = split.score([(f"{one[0]} {two[0]}", f"{one[1]} {two[1]}")])
    parts = split.score([one, two])
    assert whole.log_probability == pytest.approx(sum(each.log_probability for each in parts))
    with pytest.raises(DataError, match="cannot be split in step"):
        split.score([(f"{one[0]} {two[0]}", "A b c. A. B.")])


def test_what_belongs_to_a_whole_output_is_refused(model: TextPredictor) -> None:
    long = ["a", "".join(SENTENCES)]
    with pytest.raises(InputError, match="^line 2: the input is split, and a prefix"):
        model.predict(long, options=replace(SPLIT, prefix="a"))
    assert model.predict(long[:1], options=replace(SPLIT, prefix="a"))


def test_a_server_joins_pieces_and_refuses(model: TextPredictor) -> None:
    """As the model itself, by predict and by stream; the request may choose."""
    whole = "".join(SENTENCES)
    (expected,) = model.predict([whole], options=SPLIT)
    with serving({"only": model}) as served:
        one, two = served.predict("a b", whole, overlong="split").json["outputs"]
        assert (two["text"], two["pieces"]) == (expected.text, expected.pieces)
        assert "pieces" not in one
        events = served.events(whole, overlong="split")
        assert [kind for kind, _ in events] == ["output", "done"]
        assert events[0][1]["output"]["text"] == expected.text
        assert served.predict(whole).json["outputs"][0]["truncated"]
        refused = served.predict("a b", whole, overlong="error")
        assert refused.status == 422
        assert refused.error.startswith("line 2: the input has 12 tokens")
        assert '"overlong": "split"' in refused.error
        assert served.predict("a", overlong="drop").status == 422


def columns(target: Any, **options: object) -> Columns:
    words = TextField.learn(
        TextConfig(unit="symbol"), ["A b. C. X Y. y x c a X. Y B. y. A. b"], seed=1
    )
    config = DataConfig.model_validate({"overlong": "split", **options})
    return Columns(words, target or words, config)


def corpus_texts(
    pairs: list[tuple[str, str]], used: Columns, folder: Path
) -> tuple[list[tuple[str, str]], Report]:
    rows = [Row(*pair, FileLocation("pairs.tsv", n)) for n, pair in enumerate(pairs, 1)]
    report = Report()
    corpus = Corpus.build(rows, used, directory=folder / "corpus", report=report, fingerprint="")
    batches = [corpus.batch(np.array([number])) for number in range(len(corpus))]
    return [(used.source.cell(b.source[0]), used.target.cell(b.target[0])) for b in batches], report


def test_training_rows_are_split_in_step(tmp_path: Path) -> None:
    """Pairs of sentences, as many as fit on both sides; others are left out and counted."""
    pairs = [("A b. C. X Y.", "X. Y y. A."), ("A b c x y a b.", "A. B."), ("a", "b")]
    found, report = corpus_texts(pairs, columns(None, max_source=3, max_target=3), tmp_path)
    assert found == [("A b. C.", "X. Y y."), ("X Y.", "A."), ("a", "b")]
    assert +report.fitted == {"split": 1}
    assert {reason: each.count for reason, each in report.dropped.items()} == {Reason.UNSPLIT: 1}
    assert report.lines()[-1] == "rows split: 1"


def test_tags_and_labels_are_split_with_their_texts(tmp_path: Path) -> None:
    tags = TagsField.learn(TagsConfig(), ["N V P"], seed=1)
    used = columns(tags, max_source=3, max_target=3)
    found, _ = corpus_texts([("a b . c x y a", "N V P N V V N")], used, tmp_path)
    assert [tag for _, row in found for tag in row.split()] == ["N", "V", "P", "N", "V", "V", "N"]
    assert [len(row.split()) for _, row in found] == [3, 3, 1]
    label = LabelField.learn(LabelConfig(), ["good"], seed=1)
    found, _ = corpus_texts([("A b. C. X Y. y", "good")], columns(label, max_source=3), tmp_path)
    assert found == [("A b. C.", "good"), ("X Y. y", "good")]


def test_sources_without_sentences_cannot_be_split(tmp_path: Path) -> None:
    data = tmp_path / "turns.jsonl"
    data.write_text('{"source": ["a", "b"], "target": "c"}\n' * 5)
    options = {"source": {"kind": "turns"}, "data": {"overlong": "split"}}
    with pytest.raises(ConfigError, match="a source of kind turns has no sentences"):
        seqloom.train(data, tmp_path / "run", options=options)


def test_heads_join_what_they_say_of_pieces() -> None:
    """Tags one after another, blanks in place, and labels by the mean, weighed by length."""
    text = "red old sun moon red"
    tags = limited(made("parts"), most=2)
    (found,) = tags.predict([text], options=SPLIT)
    assert found.text == " ".join(texts(tags.predict(["red old", "sun moon", "red"])))
    assert (found.pieces, found.source[:-1]) == (3, tuple(text.split()))
    (found,) = limited(made("gaps"), most=3).predict(["red [?] sun moon [?]"], options=SPLIT)
    assert len(found.tokens) == 2
    assert "[?]" not in found.text
    moods = limited(made("mood"), most=2)
    (found,) = moods.predict([text], options=replace(SPLIT, alternatives=3))
    pieces, shares = ["red old", "sun moon", "red"], (3 / 8, 3 / 8, 2 / 8)
    assert len(found.tokens[0].alternatives) == 3
    for each in found.tokens[0].alternatives:
        scored = moods.score([(piece, each.text) for piece in pieces])
        parts = zip(shares, scored, strict=True)
        mean = sum(share * np.exp(score.log_probability) for share, score in parts)
        assert np.exp(each.log_probability) == pytest.approx(mean, rel=1e-5)


def test_a_mean_of_numbers() -> None:
    price = limited(made("price"), most=1)
    pieces = [float(each.text) for each in price.predict(["red", "old"])]
    (found,) = price.predict(["red old"], options=SPLIT)
    assert float(found.text) == pytest.approx(np.mean(pieces), rel=1e-4)
