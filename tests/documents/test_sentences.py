"""Sentences and long pieces: what is cut where, and that the pieces are the text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.documents import TextPiece, join_pieces, split_long, split_sentences

anything = st.text() | st.text("aA.!? \n\r\t\u2029")


def sentences(text: str, language: str = "") -> list[str]:
    """The sentences alone."""
    return [piece.text for piece in split_sentences(text, language=language) if piece.text]


@given(anything, st.sampled_from(["", "en", "de", "ja", "no such language"]))
def test_sentences_are_the_text(text: str, language: str) -> None:
    """Whatever the text, its pieces joined are the text, and spaces are apart."""
    pieces = split_sentences(text, language=language)
    assert join_pieces(pieces) == text
    assert all(piece.text == piece.text.strip() and not piece.space.strip() for piece in pieces)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("One. Two!  Three?", "", ["One.", "Two!", "Three?"]),
        ("“Why?” she said. He left.", "en", ["“Why?”", "she said.", "He left."]),
        ("It costs 3.5 km. Yes", "en", ["It costs 3.5 km.", "Yes"]),
        ("He met Dr. Smith. Then Mrs. Bell.", "en", ["He met Dr. Smith.", "Then Mrs. Bell."]),
        ("See (cf. Fig. Two). End.", "en", ["See (cf. Fig. Two).", "End."]),
        ("Das kostet z.B. Geld. Ja.", "de", ["Das kostet z.B. Geld.", "Ja."]),
        ("Line one\nline two", "", ["Line one", "line two"]),
        ("Mr.\nSmith", "en", ["Mr.", "Smith"]),
        ("今日は。明日は！はい", "ja", ["今日は。", "明日は！", "はい"]),
        ("😀😀. Next one! Ok", "", ["😀😀.", "Next one!", "Ok"]),
    ],
)
def test_sentences(text: str, language: str, expected: list[str]) -> None:
    """Boundaries of UAX 29, but after abbreviations."""
    assert sentences(text, language) == expected


def test_the_shape_is_looked_at() -> None:
    """Boundaries come from the shape, pieces from the text."""
    pieces = split_sentences("a. B", shape="aaab")
    assert pieces == [TextPiece("a. B", "")]
    with pytest.raises(ValueError, match="shape has 1 characters, the text 2"):
        split_sentences("ab", shape="a")


def test_a_users_abbreviations() -> None:
    """They replace the built-in ones."""
    pieces = split_sentences("Ask Xyz. Smith. No", abbreviations={"Xyz."})
    assert [piece.text for piece in pieces] == ["Ask Xyz. Smith.", "No"]


@given(anything, st.integers(1, 12))
def test_long_pieces(text: str, limit: int) -> None:
    """Pieces joined are the text, and none is longer than the limit."""
    pieces = split_long(text, limit)
    assert join_pieces(pieces) == text
    assert all(len(piece.text) <= limit for piece in pieces)


@given(st.lists(st.text("abc", min_size=1, max_size=6), max_size=12), st.integers(6, 20))
def test_words_stay_whole(words: list[str], limit: int) -> None:
    """Where each word fits, no word is cut, and no two pieces in a row would fit as one."""
    pieces = [piece.text for piece in split_long(" ".join(words), limit)]
    assert " ".join(pieces).split() == words
    pairs = pairwise(pieces)
    assert all(len(f"{one} {after.split()[0]}") > limit for one, after in pairs)


def test_words_without_spaces_and_other_lengths() -> None:
    """Languages without spaces are cut between words; the length may count anything."""
    assert [piece.text for piece in split_long("今日は良い天気", 4)] == ["今日は", "良い天気"]
    by_words = split_long("a bb ccc dddd", 2, length=lambda text: len(text.split()))
    assert [piece.text for piece in by_words] == ["a bb", "ccc dddd"]
    assert [piece.text for piece in split_long("abcdefgh", 3)] == ["abc", "def", "gh"]
