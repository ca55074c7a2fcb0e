"""Offsets of tokens in the raw text, traced back through normalization (S1.3).

Positions count code points. The offsets of a text's tokens are non-decreasing, and together they
cover the text except white space between words.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, Self

__all__ = ["Offsets", "TextAlignment", "consecutive", "prefix_offsets", "shift"]

Offsets = tuple[int, int]
"""The position of the first character, and the one after the last."""


class TextAlignment(NamedTuple):
    """The alignment of a rewritten text: for each of its characters, the offsets in the
    original.
    """

    starts: Sequence[int]
    ends: Sequence[int]
    length: int  # of the original text

    @classmethod
    def of_pieces(cls, pieces: Iterable[tuple[int, int]]) -> Self:
        """Align consecutive pieces, given each one's length before and after rewriting."""
        starts: list[int] = []
        ends: list[int] = []
        begin = 0
        for before, after in pieces:
            if before == after:
                starts.extend(range(begin, begin + before))
                ends.extend(range(begin + 1, begin + before + 1))
            else:
                starts.extend([begin] * after)
                ends.extend([begin + before] * after)
            begin += before
        return cls(starts, ends, begin)

    @classmethod
    def of_normalized(cls, text: str, normalize: Callable[[str], str]) -> Self | None:
        """Align a text with its normal form; None if no character has moved."""
        clean = normalize(text)
        if clean == text or (text.isascii() and len(clean) == len(text)):
            return None
        pieces = [(len(piece), len(normalize(piece))) for piece in _independent(text, normalize)]
        if sum(after for _, after in pieces) != len(clean):  # the rule spans pieces
            pieces = [(len(text), len(clean))]
        return cls.of_pieces(pieces)

    def original(self, offsets: Offsets) -> Offsets:
        """Map offsets in the rewritten text to the original."""
        start, end = offsets
        if start < end:
            return self.starts[start], self.ends[end - 1]
        place = self.starts[start] if start < len(self.starts) else self.length
        inside = 0 < start < len(self.starts) and place < self.ends[start - 1]
        return place, self.ends[start] if inside else place


def _independent(text: str, normalize: Callable[[str], str]) -> Iterable[str]:
    """Split a text into the smallest pieces that normalize independently: a character with its
    marks, or the Hangul letters of one syllable.
    """
    begin = 0
    for place, (left, right) in enumerate(pairwise(text), start=1):
        if left.isascii() and right.isascii():
            apart = True
        elif unicodedata.combining(right):
            apart = False
        else:
            last = normalize(text[begin:place])[-1:]
            apart = normalize(last + right) == normalize(last) + normalize(right)
        if apart:
            yield text[begin:place]
            begin = place
    yield text[begin:]


def consecutive(lengths: Iterable[int]) -> list[Offsets]:
    """The offsets of consecutive pieces of these lengths."""
    return list(pairwise(accumulate(lengths, initial=0)))


def shift(offsets: Iterable[Offsets], by: int) -> list[Offsets]:
    """Shift offsets by a number of characters, not beyond the beginning."""
    moved = [(start + by, end + by) for start, end in offsets] if by else list(offsets)
    for place, (start, end) in enumerate(moved):
        if start >= 0:
            break
        moved[place] = (0, max(0, end))
    return moved


def prefix_offsets(ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> list[Offsets]:
    """The offsets of each id, from the lengths of the decoded prefixes."""
    total, ends = len(decode(ids)), [0]
    for count in range(1, len(ids) + 1):
        ends.append(min(total, max(ends[-1], len(decode(ids[:count])))))
    return list(pairwise(ends))
