"""Word alignments from attention, Pharaoh's format, and the alignment error rate."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.drawing.views import write
from seqloom.errors import ConfigError, DataError
from seqloom.explanations.alignment import Alignment, align
from seqloom.metrics.alignment import Gold, alignment_errors, parse_gold
from seqloom.tasks import explain_text
from tests.explain.pictures import WORKED, texts
from tests.prediction.untrained import untrained


def test_the_worked_example() -> None:
    """S10: nous–we, aimons–love, l'–love, apprentissage and en–learning, profondeur–deep."""
    words = Alignment(WORKED.source[:-1], WORKED.target[:-1], WORKED.weights[:-1, :-1])
    assert words.pharaoh() == "0-0 1-1 1-2 2-5 3-3 3-4"
    assert words.as_dict()["links"][0] == [0, 0]


def test_a_word_that_looks_past_all_words_belongs_to_none() -> None:
    """What is left of a row was given to `<end>`."""
    assert Alignment(("a", "b"), ("c",), np.array([[0.3, 0.2]])).links == frozenset()
    assert Alignment(("a", "b"), ("c",), np.array([[0.6, 0.2]])).links == {(0, 0)}


@pytest.mark.parametrize("unit", ["character", "byte", "word"])
def test_tokens_are_gathered_into_the_words_they_make(unit: str) -> None:
    """A source word's weights are added, an output word's averaged, whatever the unit."""
    model = untrained(unit=unit)
    found = align(model, explain_text(model, "cab  ab", "abc cab x"))
    assert found.source == ("cab", "ab")
    assert found.target == ("abc", "cab", "x")
    assert found.weights.shape == (3, 2)
    assert (found.weights.sum(axis=1) <= 1 + 1e-9).all()
    if unit == "word":
        return
    from seqloom.explanations.attention import attention_of

    tokens = attention_of(model, explain_text(model, "cab  ab", "abc cab x")).select_map().weights
    by_hand = [[tokens[rows, columns].sum(axis=1).mean() for columns in (slice(0, 3), slice(5, 7))]
               for rows in (slice(0, 3), slice(4, 7), slice(8, 9))]  # fmt: skip
    np.testing.assert_allclose(found.weights, by_hand, atol=1e-12)


def test_the_error_rate_by_hand() -> None:
    """A = {00, 11, 22}, S = {00, 11}, P = S ∪ {23}: 1 − (2 + 2) / (3 + 2)."""
    (gold,) = parse_gold(["0-0 1-1 2p3"], place="gold")
    assert gold == Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (2, 3)}))
    rate = alignment_errors([frozenset({(0, 0), (1, 1), (2, 2)})], [gold])
    assert rate.value == pytest.approx(0.2)
    assert rate.precision == pytest.approx(2 / 3)
    assert rate.recall == 1


def test_perfect_and_empty_alignments() -> None:
    (gold,) = parse_gold(["0-0 1?1"], place="gold")
    assert alignment_errors([gold.sure], [gold]).value == 0
    assert alignment_errors([frozenset()], [gold]).value == 1
    with pytest.raises(ConfigError, match="one line for each"):
        alignment_errors([], [gold])


def test_a_line_that_is_no_alignment_is_named() -> None:
    with pytest.raises(DataError, match=r"gold\.txt:2: '1:1' is no link; write 3-4"):
        list(parse_gold(["0-0", "0-0 1:1"], place="gold.txt"))


def test_an_alignment_is_drawn_with_its_words(tmp_path: Path) -> None:
    words = Alignment(("a",), ("b", "c"), np.array([[1.0], [0.0]]))
    write(words, tmp_path / "links.svg", title="")
    assert texts(tmp_path / "links.svg") == ["a", "–", "b", "c"]
