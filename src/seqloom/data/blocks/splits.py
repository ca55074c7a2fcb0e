"""Held-out rows, selected by hash or at the end of a stream."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig
from seqloom.data.blocks.rows import BlockRows
from seqloom.data.table import Row
from seqloom.fields import split_turns
from seqloom.hashing import hash_texts, text_hash

__all__ = ["Split", "TailSplit", "split_key"]


def split_key(source: str, target: str, config: DataConfig) -> str:
    """The key by which a row is split: its source, or its whole content if sources repeat by
    nature.

    The key of a history is its first turn, so that the replies of a dialogue stay together.
    """
    if config.turns and config.split == "source":
        return split_turns(source)[0]
    return source if source and config.split == "source" else f"{source}\0{target}"


def _split_keys(rows: BlockRows, config: DataConfig) -> Sequence[str]:
    """`split_key` of each row of a block."""
    if config.split == "source" and not config.turns and all(rows.sources):
        return rows.sources
    pairs = zip(rows.sources, rows.targets, strict=True)
    return [split_key(source, target, config) for source, target in pairs]


@dataclass(frozen=True)
class Split:
    """The hashes of held-out keys: sources or, as `data.split` says, rows."""

    holdout: frozenset[int]
    config: DataConfig
    _latest: list[tuple[BlockRows, NDArray[np.bool_]]] = field(default_factory=list, compare=False)

    def is_valid(self, row: Row) -> bool:
        """Whether a row is held out."""
        return text_hash(split_key(row.source, row.target, self.config)) in self.holdout

    def train_mask(self, rows: BlockRows) -> NDArray[np.bool_]:
        """A mask of a block's training rows."""
        return ~self.valid_mask(rows)

    def valid_mask(self, rows: BlockRows) -> NDArray[np.bool_]:
        """A mask of a block's validation rows; both sides query the same block in turn."""
        if not self._latest or self._latest[0][0] is not rows:
            hashes = hash_texts(_split_keys(rows, self.config))
            held_out = np.fromiter(self.holdout, np.uint64, len(self.holdout))
            self._latest[:] = [(rows, np.isin(hashes, held_out))]
        return self._latest[0][1]

    def train(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The training rows."""
        return (row for row in rows if not self.is_valid(row))

    def valid(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The validation rows."""
        return (row for row in rows if self.is_valid(row))


@dataclass(frozen=True)
class TailSplit:
    """The end of a stream is held out, from a row index on.

    Some rows before it are left out, since their windows overlap.
    """

    start: int
    rows: int
    apart: int = 0

    @property
    def holdout(self) -> frozenset[int]:
        """The indices of held-out rows."""
        return frozenset(range(self.start, self.rows))

    @property
    def train_mask(self) -> Callable[[BlockRows], NDArray[np.bool_]]:
        """A function that masks the training rows of consecutive blocks."""
        return self._mask(0, max(1, self.start - self.apart))

    @property
    def valid_mask(self) -> Callable[[BlockRows], NDArray[np.bool_]]:
        """A function that masks the validation rows of consecutive blocks."""
        return self._mask(self.start, self.rows)

    @staticmethod
    def _mask(first: int, end: int) -> Callable[[BlockRows], NDArray[np.bool_]]:
        seen = 0

        def choose(rows: BlockRows) -> NDArray[np.bool_]:
            nonlocal seen
            numbers = np.arange(seen, seen + len(rows))
            seen += len(rows)
            return (first <= numbers) & (numbers < end)

        return choose

    def train(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The training rows."""
        return islice(rows, max(1, self.start - self.apart))

    def valid(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The validation rows."""
        return islice(rows, self.start, None)
