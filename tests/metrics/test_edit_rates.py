"""Word and character error rates (S8)."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.metrics import METRICS, Predictions, Score, edit_distance

SHORT = st.text("ab ", max_size=6)


def edit_scores(
    outputs: list[str], references: list[str], *, lowercase: bool = False
) -> list[Score]:
    rows = Predictions("text", outputs, references, lowercase)
    return [METRICS.parts[name]().score(rows) for name in ("WER", "CER")]


def by_definition(one: str, other: str) -> int:
    """The cheapest of the three ways to begin."""

    @cache
    def between(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        kept = between(i + 1, j + 1) + (one[i] != other[j])
        return min(kept, between(i + 1, j) + 1, between(i, j + 1) + 1)

    return between(0, 0)


@given(SHORT, SHORT)
def test_edits_are_the_fewest(one: str, other: str) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == by_definition(one, other)


def test_rates_are_of_all_rows_together() -> None:
    """One word of five is wrong and one too many; spaces at the ends and between do not count."""
    outputs, references = ["one  two", " nine eight up"], ["one two three", "nine eight"]
    words, characters = edit_scores(outputs, references)
    assert [words.name, characters.name] == ["WER", "CER"]
    assert words.value == pytest.approx(100 * 2 / 5)
    assert characters.value == pytest.approx(100 * (6 + 3) / 23)
    assert words.interval.low <= words.value <= words.interval.high


def test_more_edits_than_words() -> None:
    """A rate may be above 100, and is infinite where there is nothing to be right about."""
    (words, _) = edit_scores(["a b c"], ["x"])
    assert words.value == 300
    assert [each.value for each in edit_scores(["a"], [""])] == [float("inf")] * 2
    assert [each.value for each in edit_scores([""], [""])] == [0, 0]


def test_capitals_count_unless_told_otherwise() -> None:
    assert [each.value for each in edit_scores(["Yes"], ["yes"])] == pytest.approx([100, 100 / 3])
    assert [each.value for each in edit_scores(["Yes"], ["yes"], lowercase=True)] == [0, 0]
