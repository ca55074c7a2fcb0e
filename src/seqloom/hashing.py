"""Hashes of rows: what tells equal rows and sources, and which of them are held out."""

from array import array
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "HashTally",
    "Hashes",
    "below_limit",
    "choose_hashes",
    "count_repeats",
    "hash_texts",
    "mix_hashes",
    "text_hash",
]

Hashes = NDArray[np.uint64]

MOST_HASHES = 1 << 24  # that are kept; of more rows a half, a quarter, ... by their hashes
MOST_HALVINGS = 32
LARGEST_SHARE = 0.25  # of the rows that one source or row may take when it is held out
CANDIDATES = 1 << 20  # hashes among which those held out are sought at first


def text_hash(text: str) -> int:
    """A 64-bit number of a text, the same on every machine."""
    return int.from_bytes(blake2b(text.encode("utf-8"), digest_size=8).digest(), "little")


def hash_texts(texts: Iterable[str]) -> Hashes:
    """`text_hash` of each text."""
    digests = [blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), "<u8")


class HashTally:
    """The hashes of many rows in bounded memory, several for each: all of them, or those below a
    limit.

    Whether a hash is kept depends on its value alone, so that equal rows are kept together, and a
    tally is the same whatever the order of rows.
    """

    def __init__(self, columns: int) -> None:
        self._columns = [array("Q") for _ in range(columns)]
        self.halvings = 0

    def add(self, *columns: Hashes) -> None:
        """Take in the hashes of further rows, a column for each kind."""
        for mine, hashes in zip(self._columns, columns, strict=True):
            mine.frombytes(below_limit(hashes, self.halvings).tobytes())
        while max(map(len, self._columns)) > MOST_HASHES and self.halvings < MOST_HALVINGS:
            self.halvings += 1
            self._columns = [self._thin(column) for column in self._columns]

    def _thin(self, column: "array[int]") -> "array[int]":
        kept = array("Q")
        kept.frombytes(below_limit(np.frombuffer(column, np.uint64), self.halvings).tobytes())
        return kept

    def sorted(self) -> list[Hashes]:
        """All hashes that are kept, in order; the tally takes no more after this."""
        columns = [np.frombuffer(column, np.uint64) for column in self._columns]
        for column in columns:
            column.sort()
        return columns


def below_limit(hashes: Hashes, halvings: int) -> Hashes:
    """Those hashes that are kept after so many halvings."""
    if not halvings:
        return hashes
    return hashes[hashes < np.uint64(1 << (64 - halvings))]


def count_repeats(hashes: Hashes, halvings: int) -> int:
    """How many rows repeat an earlier one, by their hashes in order; an estimate after halvings."""
    return int(np.count_nonzero(hashes[1:] == hashes[:-1])) << halvings


def mix_hashes(hashes: Hashes, salt: int) -> Hashes:
    """Other numbers in place of these, one to one, so that each seed has an order of its own."""
    mixed = hashes ^ np.uint64(salt)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(33))


def choose_hashes(ordered: Hashes, most: int, salt: int, *, rows: int) -> frozenset[int]:
    """What is held out of rows with these hashes, which are in order; nothing where that takes too
    many of them."""
    rarest = _smallest_count(ordered)
    if rarest > max(1, most, LARGEST_SHARE * rows):
        return frozenset()
    often, sought = max(1, most // 10, rarest), max(CANDIDATES, 4 * most)
    while True:
        few = _first_by_salt(ordered, sought, salt)
        hashes, counts = np.unique(few, return_counts=True)
        order = np.argsort(mix_hashes(hashes, salt), kind="stable")
        order = order[counts[order] <= often]
        upto = np.cumsum(counts[order])
        if len(few) == len(ordered) or (len(upto) and upto[-1] > most):
            chosen = max(1, int(np.searchsorted(upto, most, side="right")))
            return frozenset(hashes[order[:chosen]].tolist())
        sought *= 4


def _smallest_count(ordered: Hashes) -> int:
    """How often the rarest hash comes."""
    new = np.ones(len(ordered) + 1, bool)
    new[1:-1] = ordered[1:] != ordered[:-1]
    if (new[1:] & new[:-1]).any():
        return 1
    return int(np.diff(np.flatnonzero(new)).min())


def _first_by_salt(ordered: Hashes, sought: int, salt: int) -> Hashes:
    """About so many rows, those that come first by the salt; all where they are few."""
    if len(ordered) <= 2 * sought:
        return ordered
    limit = np.uint64(int(2**64 * (sought / len(ordered))))
    parts = (ordered[start : start + sought] for start in range(0, len(ordered), sought))
    return np.concatenate([part[mix_hashes(part, salt) < limit] for part in parts])
