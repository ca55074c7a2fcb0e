"""Baselines give what scikit-learn gives for the same rows, or what was counted by hand (S8)."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import (  # type: ignore[import-untyped]
    CountVectorizer,
    TfidfVectorizer,
)
from sklearn.linear_model import Ridge  # type: ignore[import-untyped]
from sklearn.naive_bayes import MultinomialNB  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

from seqloom.baselines.grams import number_ngrams
from seqloom.baselines.labels import baselines
from seqloom.config import LabelConfig, NumberConfig, TagsConfig, TextConfig, VectorConfig
from seqloom.config.columns.numbers import VectorSequenceConfig
from tests.baselines.support import REVIEWS, WORDS, guesses, known

LETTERS = TextConfig(unit="character")


def drawn_words(rows: int, seed: int) -> list[str]:
    """Strings over four letters."""
    draw = np.random.default_rng(seed)
    return ["".join(draw.choice(list("abcd"), size=draw.integers(1, 9))) for _ in range(rows)]


def test_ngrams_lie_in_one_row_and_are_numbered_alike() -> None:
    """`a b | a b a`: of two tokens ab, ab, ba; of three aba alone."""
    tokens, rows = np.array([7, 9, 7, 9, 7]), np.array([0, 0, 1, 1, 1])
    found = number_ngrams(tokens, rows, 3)
    assert found.rows.tolist() == [0, 0, 1, 1, 1, 0, 1, 1, 1]
    a, b, *_ = one = found.numbers.tolist()
    assert one[:5] == [a, b, a, b, a]
    assert one[5] == one[6]
    assert len({a, b, one[5], one[7], one[8]}) == found.kinds == 5


@pytest.mark.parametrize("config", [LETTERS, WORDS], ids=["letters", "words"])
def test_naive_bayes_over_ngrams_is_that_of_scikit_learn(
    config: TextConfig, tmp_path: Path
) -> None:
    """Counts of n-grams of the training texts, 0.1 added to each; others do not count."""
    spelt = config.unit == "character"
    words = drawn_words(150, 1)
    texts = words if spelt else [" ".join(word) for word in words]
    labels = ["+" if "ab" in word or word.endswith("d") else "-" for word in words]
    known_rows, asked = texts[:100], texts[100:]
    learnt = known(list(zip(known_rows, labels, strict=False)), tmp_path, config, LabelConfig())
    letters, two_words = {"analyzer": "char", "ngram_range": (1, 5)}, {"ngram_range": (1, 2)}
    counter = CountVectorizer(**letters if spelt else {"token_pattern": r"\S+", **two_words})
    model = MultinomialNB(alpha=0.1).fit(counter.fit_transform(known_rows), labels[:100])
    found = guesses(learnt, asked)["naive Bayes over n-grams"]
    assert found == model.predict(counter.transform(asked)).tolist()
    assert set(found) == {"+", "-"}


def test_the_nearest_source_has_the_largest_cosine(tmp_path: Path) -> None:
    """Of n-gram counts weighed by log(rows / rows with it) + 1, as scikit-learn weighs them."""
    sources = drawn_words(120, 2)
    rows = [(source, f"{number}") for number, source in enumerate(sources)]
    learnt = known(rows[:90], tmp_path, LETTERS, LETTERS)
    vectors = TfidfVectorizer(analyzer="char", ngram_range=(1, 5), smooth_idf=False)
    table = vectors.fit_transform(sources[:90])
    alike = (vectors.transform(sources[90:]) @ table.T).toarray()
    found = guesses(learnt, sources[90:])["nearest training source"]
    best = [alike[place, int(number)] for place, number in enumerate(found)]
    np.testing.assert_allclose(best, alike.max(axis=1), rtol=1e-9)
    assert len(set(found)) > 10


def test_a_text_is_copied_and_the_commonest_target_guessed(tmp_path: Path) -> None:
    rows = [("one", "x y"), ("two", "z"), ("three", "z"), ("four", "x y"), ("five", "z")]
    found = guesses(known(rows, tmp_path, LETTERS, LETTERS), ["no", "one"])
    assert found["copy of the source"] == ["no", "one"]
    assert found["commonest target"] == ["z", "z"]
    assert found["nearest training source"][1] == "x y"


def test_no_target_is_the_commonest_where_each_comes_once(tmp_path: Path) -> None:
    found = guesses(known([("a", "x"), ("b", "y")], tmp_path, LETTERS, LETTERS), ["a"])
    assert "commonest target" not in found


@pytest.mark.parametrize("config", [VectorConfig(), VectorSequenceConfig()], ids=lambda c: c.kind)
def test_numbers_have_the_ridge_regression_of_scikit_learn(
    config: VectorConfig | VectorSequenceConfig, tmp_path: Path
) -> None:
    """On standardized numbers, with a penalty of 1; of a sequence, on the mean of its steps."""
    draw = np.random.default_rng(3)
    steps = 1 if config.kind == "vector" else 4
    tables = draw.normal(size=(60, steps, 3)) * [1.0, 5.0, 0.1] + [0.0, 9.0, -2.0]
    numbers = tables.mean(axis=1) @ [1.0, -0.3, 4.0] + draw.normal(size=60)
    cells = [
        " ".join(f"{x:.7g}" for x in table[0]) if steps == 1 else str(table.round(6).tolist())
        for table in tables
    ]
    rows = [(cell, f"{number:.7g}") for cell, number in zip(cells, numbers, strict=True)]
    learnt = known(rows[:45], tmp_path, config, NumberConfig())
    scaler = StandardScaler().fit(tables[:45].mean(axis=1))
    model = Ridge(alpha=1.0).fit(scaler.transform(tables[:45].mean(axis=1)), numbers[:45])
    wanted = model.predict(scaler.transform(tables[45:].mean(axis=1)))
    found = guesses(learnt, cells[45:])["linear over numbers"]
    np.testing.assert_allclose([float(each) for each in found], wanted, rtol=2e-3, atol=2e-3)


def test_a_linear_classifier_over_numbers_tells_what_a_line_divides(tmp_path: Path) -> None:
    rows = [("1 2", "a"), ("2 1", "a"), ("8 9", "b"), ("9 8", "b"), ("9 9", "b")]
    learnt = known(rows, tmp_path, VectorConfig(), LabelConfig())
    assert guesses(learnt, ["0 0", "10 10"]) == {
        "commonest label": ["b", "b"],
        "linear classifier over numbers": ["a", "b"],
    }


def test_a_new_word_has_the_tag_of_its_longest_known_ending(tmp_path: Path) -> None:
    """`-ly` is ADV twice and `-fly` VERB twice; `bee` is new in all its letters but the last."""
    rows = [
        ("badly sadly", "ADV ADV"),
        ("firefly butterfly", "VERB VERB"),
        ("tree see the", "NOUN NOUN DET"),
    ]
    spelt = TextConfig(unit="symbol", spelling=20)
    found = guesses(known(rows, tmp_path, spelt, TagsConfig()), ["madly dragonfly bee the xyz"])
    # `xyz` ends like no word; the tags of rare words are then ADV, VERB and NOUN twice each.
    assert found["commonest tag of each word or ending"][0].split()[:4] == [
        *("ADV", "VERB", "NOUN", "DET")
    ]


def test_costly_rules_are_left_to_evaluations(tmp_path: Path) -> None:
    learnt = known(REVIEWS, tmp_path, WORDS, LabelConfig())
    sources = learnt.source.rows(["film"])
    cheap = baselines(learnt, sources, only_cheap=True)
    left = baselines(learnt, sources).keys() - cheap.keys()
    assert left == {"concatenated window, 16 tokens"}
