"""A bounded uniform sample of rows."""

from collections.abc import Iterable
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
    seed, up to its capacity and `MOST_CHARACTERS`.
    """

    def __init__(self, capacity: int, *, seed: int) -> None:
        self._capacity = capacity
        self._salt = key(seed, "sample")
        self._ranks = np.empty(0, np.uint64)  # in order, then those of later blocks
        self._sizes = np.empty(0, np.int64)
        self._limit = np.uint64(2**64 - 1)

    def choose(self, block: BlockRows) -> list[SampledRow]:
        """The candidates of the next block."""
        numbers = block.lines + (block.part << PART)
        ranks = mix_hashes(numbers.astype(np.uint64), self._salt)
        chosen = np.flatnonzero(ranks <= self._limit)
        places = chosen.tolist()
        sources = (block.sources[place] for place in places)
        targets = (block.targets[place] for place in places)
        columns = ranks[chosen].tolist(), numbers[chosen].tolist(), sources, targets
        rows = list(map(SampledRow, *columns))
        if rows:
            self._lower(ranks[chosen], np.fromiter(map(_characters, rows), np.int64, len(rows)))
        return rows

    def _lower(self, ranks: NDArray[np.uint64], sizes: NDArray[np.int64]) -> None:
        """Lower the limit once there are enough smaller ranks."""
        self._ranks = np.concatenate([self._ranks, ranks])
        self._sizes = np.concatenate([self._sizes, sizes])
        if not _are_many(len(self._ranks), int(self._sizes.sum()), self._capacity):
            return
        order = np.argsort(self._ranks)
        kept = order[: _fitting(self._sizes[order], self._capacity)]
        self._ranks, self._sizes = self._ranks[kept], self._sizes[kept]
        self._limit = self._ranks[-1]


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
        if _are_many(len(self._rows), self._characters, self._capacity):
            self._thin()

    def pairs(self) -> list[tuple[str, str]]:
        """Source and target of each row, in the order of their lines."""
        self._thin()
        self._rows.sort(key=itemgetter(1))
        return [(row.source, row.target) for row in self._rows]

    def _thin(self) -> None:
        self._rows.sort(key=itemgetter(0))
        sizes = np.fromiter(map(_characters, self._rows), np.int64, len(self._rows))
        kept = _fitting(sizes, self._capacity)
        del self._rows[kept:]
        self._characters = int(sizes[:kept].sum())


def _characters(row: SampledRow) -> int:
    """The characters of both sides."""
    return len(row.source) + len(row.target)


def _are_many(rows: int, characters: int, capacity: int) -> bool:
    """Whether there are so many more rows than fit that it is worth dropping some."""
    return rows > 5 * capacity // 4 or characters > 5 * MOST_CHARACTERS // 4


def _fitting(sizes: NDArray[np.int64], capacity: int) -> int:
    """How many rows of these sizes fit, in the order of their ranks; at least one."""
    upto = np.searchsorted(np.cumsum(sizes), MOST_CHARACTERS, side="right")
    return min(capacity, max(1, int(upto)))
