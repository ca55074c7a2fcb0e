"""A bounded uniform sample of rows."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.data.blocks.rows import BlockRows
from seqloom.hashing import mix_hashes
from seqloom.randomness import key

__all__ = ["RowSample", "SampleCandidates", "SampledRow"]


MOST_CHARACTERS = 24_000_000  # of all sampled rows; learning subwords takes 30 bytes for each
PART = 40  # bits of a line's number, below the number of its part


class SampledRow(NamedTuple):
    """A row, its part and line as one number, and its rank for sampling."""

    rank: int
    line: int
    source: str
    target: str


class SampleCandidates:
    """Selects candidates for the sample from blocks of rows: those with the smallest ranks by the
    seed, up to its capacity.
    """

    def __init__(self, capacity: int, *, seed: int) -> None:
        self._capacity = capacity
        self._salt = key(seed, "sample")
        self._ranks = np.empty(0, np.uint64)  # the smallest so far
        self._waiting: list[NDArray[np.uint64]] = []
        self._limit = np.uint64(2**64 - 1)

    def choose(self, block: BlockRows) -> list[SampledRow]:
        """The candidates of the next block."""
        numbers = block.lines + (block.part << PART)
        ranks = mix_hashes(numbers.astype(np.uint64), self._salt)
        chosen = np.flatnonzero(ranks <= self._limit)
        self._lower(ranks[chosen])
        places = chosen.tolist()
        sources = (block.sources[place] for place in places)
        targets = (block.targets[place] for place in places)
        columns = ranks[chosen].tolist(), numbers[chosen].tolist(), sources, targets
        return list(map(SampledRow, *columns))

    def _lower(self, ranks: NDArray[np.uint64]) -> None:
        """Lower the limit once there are enough smaller ranks."""
        self._waiting.append(ranks)
        if sum(map(len, self._waiting)) > self._capacity // 4:
            self._ranks = np.concatenate([self._ranks, *self._waiting])
            self._waiting = []
            if len(self._ranks) >= self._capacity:
                self._ranks = np.partition(self._ranks, self._capacity - 1)[: self._capacity]
                self._limit = self._ranks.max()


class RowSample:
    """A sample of at most `capacity` rows and `MOST_CHARACTERS`, independent of their order."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._rows: list[SampledRow] = []
        self._characters = 0

    def add(self, rows: Iterable[SampledRow]) -> None:
        """Add rows."""
        added = list(rows)
        self._rows += added
        self._characters += sum(map(_characters, added))
        if len(self._rows) > 3 * self._capacity // 2 or self._characters > 2 * MOST_CHARACTERS:
            self._thin()

    def pairs(self) -> list[tuple[str, str]]:
        """Source and target of each row, in the order of their lines."""
        self._thin()
        self._rows.sort(key=itemgetter(1))
        return [(row.source, row.target) for row in self._rows]

    def _thin(self) -> None:
        """Keep the first rows by rank: as many as fit, and at least one."""
        self._rows.sort(key=itemgetter(0))
        sizes = list(accumulate(map(_characters, self._rows)))
        kept = min(self._capacity, max(1, bisect_right(sizes, MOST_CHARACTERS)))
        del self._rows[kept:]
        self._characters = sizes[kept - 1] if sizes else 0


def _characters(row: SampledRow) -> int:
    """The characters of both sides."""
    return len(row.source) + len(row.target)
