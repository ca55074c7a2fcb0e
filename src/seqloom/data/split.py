"""A held-out part where none is given, chosen by what the rows say.

Rows with the same source fall on the same side, so nothing held out was seen in training; where
sources come back by nature, as labels do, rows that are wholly alike. The order in which they are
chosen depends on each of them and the seed alone, not on where they stand. Of a stream of text the
end is held out, so that what stands before it is still one text.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig
from seqloom.data.survey import Survey, split_key, text_hash
from seqloom.data.table import Row
from seqloom.randomness import key

__all__ = ["Split", "TailSplit", "hold_out"]

LARGEST_SHARE = 0.25  # of the rows that one source or row may take when it is held out


@dataclass(frozen=True)
class Split:
    """The hashes of what is held out: sources or, as `data.split` says, rows."""

    holdout: frozenset[int]
    config: DataConfig

    def is_valid(self, row: Row) -> bool:
        """Whether a row is held out."""
        return text_hash(split_key(row.source, row.target, self.config)) in self.holdout

    def train(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows to learn from."""
        return (row for row in rows if not self.is_valid(row))

    def valid(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows held out."""
        return (row for row in rows if self.is_valid(row))


@dataclass(frozen=True)
class TailSplit:
    """The end of a stream is held out, from a row on that is counted from 0."""

    start: int
    rows: int

    @property
    def holdout(self) -> frozenset[int]:
        """The numbers of the rows held out."""
        return frozenset(range(self.start, self.rows))

    def train(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows to learn from."""
        return islice(rows, self.start)

    def valid(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows held out."""
        return islice(rows, self.start, None)


def hold_out(survey: Survey, config: DataConfig, *, seed: int) -> Split | TailSplit:
    """Hold out about `valid_share` of the rows and at most `valid_rows`.

    Of a stream these are the last rows, whatever they say. Of other data at least one row is held
    out where there are two different sources; none is with a share of 0. A source that many rows
    repeat stays in training, unless all are like that. Where even the rarest source has more than
    a quarter of the rows, and more than one, rows that are wholly alike are held out in its place;
    where those are as many, none are.
    """
    if config.lines == "stream":
        rows = survey.facts.rows
        most = min(config.valid_rows, math.ceil(config.valid_share * rows), rows - 1)
        return TailSplit(rows - most, rows)
    if config.valid_share == 0 or len(np.unique(survey.source_hashes)) < 2:
        return Split(frozenset(), config)
    most = max(1, min(config.valid_rows, int(config.valid_share * survey.facts.rows)))
    found = _choose_hashes(survey.source_hashes, most, key(seed, "held out"))
    if found:
        return Split(found, config)
    by_row = config.model_copy(update={"split": "row"})
    return Split(_choose_hashes(survey.row_hashes, most, key(seed, "held out")), by_row)


def _choose_hashes(all_hashes: NDArray[np.uint64], most: int, salt: int) -> frozenset[int]:
    """What is held out of rows with these hashes; nothing where that takes too many of them."""
    hashes, counts = np.unique(all_hashes, return_counts=True)
    if counts.min() > max(1, most, LARGEST_SHARE * len(all_hashes)):
        return frozenset()
    often = max(1, most // 10, int(counts.min()))
    order = np.argsort(_mix_hashes(hashes, salt), kind="stable")
    order = order[counts[order] <= often]
    chosen = max(1, int(np.searchsorted(np.cumsum(counts[order]), most, side="right")))
    return frozenset(hashes[order[:chosen]].tolist())


def _mix_hashes(hashes: NDArray[np.uint64], salt: int) -> NDArray[np.uint64]:
    """Other numbers in place of these, one to one, so that each seed has an order of its own."""
    mixed = hashes ^ np.uint64(salt)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(33))
