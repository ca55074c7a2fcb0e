"""Sentence segmentation by the rules of Unicode (UAX 29).

ICU finds the boundaries, with its lists of abbreviations for the languages that have one. Pieces
and spaces joined give the text again.
"""

import re
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import NamedTuple

__all__ = [
    "ABBREVIATIONS",
    "TextPiece",
    "join_pieces",
    "pack_sentences",
    "split_long",
    "split_sentences",
]

# Titles before a name and the like, which the lists of ICU lack in some languages.
ABBREVIATIONS = frozenset(
    {"Dr.", "Fr.", "Hr.", "Mr.", "Mrs.", "Ms.", "Nr.", "Prof.", "St."}
    | {"bzw.", "ca.", "cf.", "d.h.", "e.g.", "fig.", "Fig.", "i.e.", "vgl.", "vs.", "z.B."}
)
WINDOW = 80  # characters before a boundary that may hold an abbreviation
SURROGATE = re.compile(r"[\ud800-\udfff]")


class TextPiece(NamedTuple):
    """A piece of a text and the spaces after it."""

    text: str
    space: str


def split_sentences(
    text: str,
    *,
    language: str = "",
    shape: str | None = None,
    abbreviations: Collection[str] = ABBREVIATIONS,
) -> list[TextPiece]:
    """Split a text into sentences; line breaks end sentences too.

    `shape` is a text of the same length to segment in its place, such as one with letters for
    placeholders. A sentence does not end with one of the abbreviations.
    """
    from icu4py.breakers import SentenceBreaker

    looked = text if shape is None else shape
    if len(looked) != len(text):
        raise ValueError(f"the shape has {len(looked)} characters, the text {len(text)}")
    locale = f"{language}@ss=standard" if language else ""
    bounds = [0]
    for sentence in SentenceBreaker(SURROGATE.sub("\ufffd", looked), locale):
        bounds.append(bounds[-1] + len(sentence))
    ends = [
        end
        for end in bounds[1:-1]
        if not _is_abbreviated(looked[max(0, end - WINDOW) : end], abbreviations)
    ]
    cuts = [0, *ends, len(text)]
    pieces = [text[low:high] for low, high in pairwise(cuts)]
    return list(_move_spaces(pieces))


def split_long(text: str, limit: int, *, length: Callable[[str], int] = len) -> list[TextPiece]:
    """Pieces of at most `limit` by `length`, cut at spaces, else between words, else anywhere.

    A single character that is longer than the limit is a piece of its own.
    """
    from icu4py.breakers import WordBreaker

    words = list(WordBreaker(SURROGATE.sub("\ufffd", text), ""))
    pieces, start, spaced, end = [], 0, 0, 0
    for word in words:
        high = end + len(word)
        while length(text[start:high].strip()) > limit:
            cut = spaced if spaced > start else end
            if cut <= start:  # a word that is too long by itself
                cut = _longest(text, start, high, lambda part: length(part) <= limit)
            if cut >= high:
                break
            pieces.append(text[start:cut])
            start = cut
        end = high
        spaced = end if word.isspace() else spaced
    return list(_move_spaces([*pieces, text[start:]]))


def pack_sentences(text: str, limit: int, *, length: Callable[[str], int] = len) -> list[TextPiece]:
    """Pieces of at most `limit` by `length`, each of as many whole sentences as fit.

    A sentence that is longer than the limit is split as by `split_long`.
    """
    pieces: list[TextPiece] = []
    for part in _fitting_parts(text, limit, length):
        if pieces:
            joined = join_pieces(pieces[-1:]) + part.text
            if not pieces[-1].text or not part.text or length(joined) <= limit:
                pieces[-1] = TextPiece(joined.lstrip(), part.space)
                continue
        pieces.append(part)
    return [piece for piece in pieces if piece.text]


def _fitting_parts(text: str, limit: int, length: Callable[[str], int]) -> Iterator[TextPiece]:
    """Split a text into sentences, and those longer than the limit into parts."""
    for sentence in split_sentences(text):
        if length(sentence.text) <= limit:
            yield sentence
        else:
            *parts, last = split_long(sentence.text, limit, length=length)
            yield from parts
            yield TextPiece(last.text, last.space + sentence.space)


def join_pieces(pieces: Collection[TextPiece]) -> str:
    """Join pieces to their text."""
    return "".join(piece.text + piece.space for piece in pieces)


def _longest(text: str, start: int, end: int, fits: Callable[[str], bool]) -> int:
    """The largest cut such that the piece before it fits; at least one character."""
    low, high = start + 1, end
    while low < high:
        middle = (low + high + 1) // 2
        if fits(text[start:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def _is_abbreviated(text: str, abbreviations: Collection[str]) -> bool:
    """Whether a text ends with an abbreviation and a space that does not break the line."""
    stripped = text.rstrip()
    if "\n" in text[len(stripped) :] or "\r" in text[len(stripped) :]:
        return False
    tail = stripped.split()
    return bool(tail) and tail[-1].lstrip("(\"'“„«[") in abbreviations


def _move_spaces(pieces: list[str]) -> Iterator[TextPiece]:
    """Move leading spaces of pieces to the end of the previous one."""
    for piece in pieces:
        text = piece.strip()
        at = len(piece) - len(piece.lstrip()) if text else 0
        if at:
            yield TextPiece("", piece[:at])
        if piece[at:]:
            yield TextPiece(text, piece[at + len(text) :])
