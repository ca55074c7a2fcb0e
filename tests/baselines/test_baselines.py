"""Baselines are what their definitions say, by hand and by brute force (S8)."""

import math
from pathlib import Path

import numpy as np
import pytest

from seqloom.baselines.labels import TrainingRows
from seqloom.config import (
    LabelConfig,
    NumberConfig,
    TagsConfig,
)
from seqloom.errors import RunError
from seqloom.fields import learn_field
from tests.baselines.support import REVIEWS, WORDS, guesses, known


def test_naive_bayes_is_bayes_rule_with_one_added_to_every_count(tmp_path: Path) -> None:
    """P(+) = 3/4; of V = 4 + 4 special symbols, + wrote 6 tokens and - wrote 2."""
    learnt = known(REVIEWS, tmp_path, WORDS, LabelConfig())
    found = guesses(learnt, ["film", "bad film", "bad bad", "never seen", "plot bad bad bad"])
    counts = {
        "+": ({"good": 3, "film": 2, "plot": 1}, 6, 3 / 4),
        "-": ({"bad": 1, "film": 1}, 2, 1 / 4),
    }

    def score(label: str, text: str) -> float:
        seen, total, prior = counts[label]
        words = [word for word in text.split() if word in ("good", "film", "plot", "bad")]
        return math.log(prior) + sum(math.log((seen.get(w, 0) + 1) / (total + 8)) for w in words)

    texts = ["film", "bad film", "bad bad", "never seen", "plot bad bad bad"]
    best = [max("+-", key=lambda label: score(label, text)) for text in texts]
    assert set(best) == {"+", "-"}
    assert found["commonest label"] == ["+"] * 5
    assert found["naive Bayes"] == best


def test_tags_are_the_commonest_of_each_word(tmp_path: Path) -> None:
    """`can` is a verb twice and a noun once; an unknown word has the commonest tag of all."""
    rows = [("we can", "P V"), ("the can fell", "D N V"), ("you can", "P V"), ("dogs fell", "N V")]
    learnt = known(rows, tmp_path, WORDS, TagsConfig())
    found = guesses(learnt, ["can the dogs", "cats"])
    assert found["commonest tag of each word"] == ["V D N", "V"]


def windows(row: list[str], places: range) -> list[list[str]]:
    """What stands at these places from each word of a row."""
    return [
        [row[n + place] if 0 <= n + place < len(row) else "" for place in places]
        for n in range(len(row))
    ]


def least_squares(learnt: list[list[str]], classes: list[str], asked: list[list[str]]) -> list[str]:
    """The class with the largest score under (XᵀX + I) w = Xᵀ(y − mean), solved densely, for
    concatenated one-hot vectors and 1."""
    words = sorted({word for window in [*learnt, *asked] for word in window})
    kinds = sorted(set(classes))

    def table(rows: list[list[str]]) -> np.ndarray:
        hot = [[float(word == other) for word in row for other in words] for row in rows]
        return np.array([[*row, 1.0] for row in hot])

    given = np.array([[float(one == kind) for kind in kinds] for one in classes])
    matrix, mean = table(learnt), given.mean(axis=0)
    weights = np.linalg.solve(
        matrix.T @ matrix + np.eye(matrix.shape[1]), matrix.T @ (given - mean)
    )
    return [kinds[best] for best in (table(asked) @ weights + mean).argmax(axis=1)]


def test_a_concatenated_window_of_tokens_is_a_linear_classifier(tmp_path: Path) -> None:
    """The same tags as the dense normal equations; a word's tag follows from its neighbours."""
    draw = np.random.default_rng(2)
    rows = []
    for _ in range(40):
        words = draw.choice(["a", "b", "c", "d"], size=draw.integers(1, 7)).tolist()
        before = ["", *words[:-1]]
        tags = [
            "X" if (w == "a") == (b == "b") else w.upper()
            for w, b in zip(words, before, strict=True)
        ]
        rows.append((" ".join(words), " ".join(tags)))
    learnt = known(rows, tmp_path, WORDS, TagsConfig())
    asked = ["a b a", "c", "b a d c b b a", "d d"]
    found = guesses(learnt, asked)["concatenated window, 5 tokens"]
    around = range(-2, 3)
    tagged = [each for text, _ in rows for each in windows(text.split(), around)]
    tags = [tag for _, target in rows for tag in target.split()]
    wanted = least_squares(
        tagged, tags, [each for text in asked for each in windows(text.split(), around)]
    )
    assert " ".join(found).split() == wanted
    assert [len(row.split()) for row in found] == [3, 1, 7, 2]


def test_a_concatenated_beginning_is_a_linear_classifier(tmp_path: Path) -> None:
    """Words count by their places, and those after the sixteenth do not count."""
    draw = np.random.default_rng(3)
    rows = []
    for _ in range(50):
        words = draw.choice(["a", "b", "c"], size=draw.integers(2, 21)).tolist()
        rows.append((" ".join(words), "+" if words[1] == "b" else "-"))
    learnt = known(rows, tmp_path, WORDS, LabelConfig())
    asked = ["a b a", "b a a", "c", "b b " + "c " * 20, "a b" + " a" * 14 + " b b b"]
    found = guesses(learnt, asked)["concatenated window, 16 tokens"]

    def beginning(text: str) -> list[str]:
        return (text.split() + [""] * 16)[:16]

    wanted = least_squares(
        [beginning(text) for text, _ in rows], [label for _, label in rows],
        list(map(beginning, asked)),
    )  # fmt: skip
    assert found == wanted
    assert set(wanted) == {"+", "-"}


def test_linear_is_ridge_regression_on_counts(tmp_path: Path) -> None:
    """The same numbers as the normal equations (XᵀX + I) w = Xᵀ(y - mean), solved densely."""
    draw = np.random.default_rng(1)
    vocabulary = ["a", "b", "c", "d", "e"]
    texts = [" ".join(draw.choice(vocabulary, size=draw.integers(1, 8))) for _ in range(40)]
    numbers = draw.normal(3.0, 2.0, size=40)
    rows = [(text, f"{number:.9g}") for text, number in zip(texts, numbers, strict=True)]
    learnt = known(rows, tmp_path, WORDS, NumberConfig())
    asked = ["a a b", "e", "d never c"]
    found = guesses(learnt, asked)

    def features(text: str) -> list[float]:
        words = text.split()
        other = len([word for word in words if word not in vocabulary])
        return [*(words.count(word) for word in vocabulary), other, len(words), 1]

    table = np.array([features(text) for text in texts], float)
    mean, spread = numbers.mean(), numbers.std()
    weights = np.linalg.solve(table.T @ table + np.eye(8), table.T @ ((numbers - mean) / spread))
    wanted = [float(np.dot(features(text), weights)) * spread + mean for text in asked]
    assert [float(each) for each in found["linear"]] == pytest.approx(wanted, rel=1e-4)
    assert [float(each) for each in found["mean"]] == pytest.approx([mean] * 3, rel=1e-4)


def test_rows_of_other_fields_are_refused(tmp_path: Path) -> None:
    """RELIABILITY A6: a cache that is not of this run gives no baselines, and no traceback."""
    learnt = known(REVIEWS, tmp_path, WORDS, LabelConfig())
    fewer = learn_field(WORDS, ["good"], seed=1)
    with pytest.raises(RunError, match="train on"):
        TrainingRows.open(tmp_path / "train", fewer, learnt.target)
