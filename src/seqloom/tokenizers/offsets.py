"""Where tokens stand in a text, through whatever was done to the text before it was cut (S1.3).

Positions count code points. The offsets of a text's tokens never go back, and together they cover
all of the text but the white space between words.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, Self

__all__ = ["Offsets", "TextAlignment", "consecutive", "prefix_offsets", "shift"]

Offsets = tuple[int, int]
"""The position of the first character, and the one after the last."""


class TextAlignment(NamedTuple):
    """For each character of a rewritten text, where what it was made of stands in the text."""

    starts: Sequence[int]
    ends: Sequence[int]
    length: int  # of the text

    @classmethod
    def of_pieces(cls, pieces: Iterable[tuple[int, int]]) -> Self:
        """Pieces of a text in order, each with its length before and after it was rewritten."""
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
        """How a text lies under its normal form; None where each character has kept its place."""
        clean = normalize(text)
        if clean == text or (text.isascii() and len(clean) == len(text)):
            return None
        pieces = [(len(piece), len(normalize(piece))) for piece in _independent(text, normalize)]
        if sum(after for _, after in pieces) != len(clean):  # a rule that looks further: all as one
            pieces = [(len(text), len(clean))]
        return cls.of_pieces(pieces)

    def original(self, offsets: Offsets) -> Offsets:
        """Offsets in the text for those in the rewritten one."""
        start, end = offsets
        if start < end:
            return self.starts[start], self.ends[end - 1]
        place = self.starts[start] if start < len(self.starts) else self.length
        inside = 0 < start < len(self.starts) and place < self.ends[start - 1]
        return place, self.ends[start] if inside else place


def _independent(text: str, normalize: Callable[[str], str]) -> Iterable[str]:
    """The text in the smallest pieces that are normalized one by one as they are together: a
    character with the marks on it, or letters of Hangul that make one syllable."""
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
    """Offsets of pieces of these lengths that follow each other without a gap."""
    return list(pairwise(accumulate(lengths, initial=0)))


def shift(offsets: Iterable[Offsets], by: int) -> list[Offsets]:
    """The same further on, or further back but not before the beginning."""
    moved = [(start + by, end + by) for start, end in offsets] if by else list(offsets)
    for place, (start, end) in enumerate(moved):
        if start >= 0:
            break
        moved[place] = (0, max(0, end))
    return moved


def prefix_offsets(ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> list[Offsets]:
    """Where each id stands in the text of all, told by how much text those up to it make."""
    total, ends = len(decode(ids)), [0]
    for count in range(1, len(ids) + 1):
        ends.append(min(total, max(ends[-1], len(decode(ids[:count])))))
    return list(pairwise(ends))
