"""A bounded sample of rows, each as likely to be in it as another."""

from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from seqloom.data.blocks.rows import BlockRows
from seqloom.hashing import mix_hashes
from seqloom.randomness import key

__all__ = ["RowSample", "SampledRow"]


PART = 40  # bits of a line's number, above which stands that of its part of the data


class SampledRow(NamedTuple):
    """A row, its part and line as one number, and the number that decides whether it stays."""

    rank: int
    line: int
    source: str
    target: str


class RowSample:
    """At most so many rows, the same ones in whatever processes they are met: those whose lines
    have the smallest numbers by the seed."""

    def __init__(self, capacity: int, *, seed: int) -> None:
        self._capacity = capacity
        self._salt = key(seed, "sample")
        self._limit = 1 << 64
        self.rows: list[SampledRow] = []

    def add(self, block: BlockRows) -> None:
        """Take in those of further rows that belong to the sample so far."""
        numbers = block.lines + (block.part << PART)
        ranks = mix_hashes(numbers.astype(np.uint64), self._salt)
        chosen = np.arange(len(ranks))
        if self._limit < 1 << 64:
            chosen = np.flatnonzero(ranks < np.uint64(self._limit))
        places = chosen.tolist()
        sources = (block.sources[place] for place in places)
        targets = (block.targets[place] for place in places)
        columns = ranks[chosen].tolist(), numbers[chosen].tolist(), sources, targets
        self.merge(map(SampledRow, *columns))

    def merge(self, rows: Iterable[SampledRow]) -> None:
        """Take in rows of another sample."""
        self.rows.extend(rows)
        if len(self.rows) > 2 * self._capacity:
            self._thin()

    def pairs(self) -> list[tuple[str, str]]:
        """Source and target of each row, in the order of their lines."""
        self._thin()
        self.rows.sort(key=itemgetter(1))
        return [(row.source, row.target) for row in self.rows]

    def _thin(self) -> None:
        self.rows.sort(key=itemgetter(0))
        del self.rows[self._capacity :]
        if len(self.rows) == self._capacity:
            self._limit = self.rows[-1].rank
