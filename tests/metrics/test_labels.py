"""Labels and tags are compared as their fields cut them (S8)."""

import tracemalloc
from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import TagsConfig
from seqloom.fields import TagsField
from seqloom.metrics import target_scores
from seqloom.metrics.metric import INTERVAL, RESAMPLES
from seqloom.randomness import key

NAMES = ("N", "proper\u00a0noun", "x\u2009y", "\u3000", "V\tW")
rows = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5), min_size=1, max_size=5)


@given(rows=rows)
def test_a_tag_is_what_its_field_takes_for_one(rows: list[list[str]]) -> None:
    """White space other than the space is part of a tag, for the scores as for the field."""
    cells = [" ".join(row) for row in rows]
    field = TagsField.learn(TagsConfig(), cells, seed=1)
    counted = sum(len(row) for row in field.rows(cells))
    share, f1, whole = target_scores("tags", cells, cells, seed=None)
    assert share.signature == f"rows:{len(rows)}|tags:{counted}"
    assert f1.signature == f"kinds:{len(field.labels)}"
    assert (share.value, f1.value, whole.value) == (100, 100, 100)


def test_macro_f1_by_hand() -> None:
    """a: 2 × 1 / (1 + 2); b: 2 × 1 / (2 + 1); c: never right; x: asked for nowhere."""
    _, f1, _ = target_scores("label", ["a", "b", "b", "x"], ["a", "a", "b", "c"])
    assert f1.value == pytest.approx(100 * (2 / 3 + 2 / 3 + 0) / 3)
    assert f1.signature == "kinds:3"


def plain_f1(rows: list[tuple[str, str]], kinds: set[str]) -> float:
    """Macro F1 of these rows by plain counts, over kinds that are given or wanted in them."""
    right = Counter(wanted for given, wanted in rows if given == wanted)
    asked = Counter(label for row in rows for label in row)
    return 100 * float(np.mean([2 * right[kind] / asked[kind] for kind in kinds & asked.keys()]))


def test_the_interval_of_macro_f1_is_that_of_rows_drawn_anew() -> None:
    chance = Random(1)
    rows = [(chance.choice("abcx"), chance.choice("aaabbc")) for _ in range(30)]
    kinds = {wanted for _, wanted in rows}
    generator = np.random.default_rng(key(1, "bootstrap"))
    draws = (generator.integers(len(rows), size=len(rows)) for _ in range(RESAMPLES))
    drawn = [plain_f1([rows[place] for place in draw], kinds) for draw in draws]
    low, high = np.quantile(drawn, INTERVAL, method="nearest")
    _, f1, _ = target_scores(
        "label", [given for given, _ in rows], [wanted for _, wanted in rows], seed=1
    )
    assert (f1.value, f1.interval.low, f1.interval.high) == pytest.approx(
        (plain_f1(rows, kinds), low, high)
    )


def test_macro_f1_of_many_kinds_has_an_interval_and_little_memory() -> None:
    """A table of rows by kinds would take 144 megabytes here."""
    labels = [str(number) for number in range(3_000)]
    guesses = [label if number % 3 else "none" for number, label in enumerate(labels)]
    tracemalloc.start()
    _, f1, _ = target_scores("label", guesses, labels)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert f1.value == pytest.approx(200 / 3)
    assert f1.interval.low < f1.value < f1.interval.high
    assert most < 10_000_000


def test_where_nothing_is_drawn_no_interval_is_shown() -> None:
    assert list(map(str, target_scores("label", ["a"], ["a"], seed=None))) == [
        "accuracy 100.0",
        "macro F1 100.0",
        "weighted F1 100.0",
    ]
