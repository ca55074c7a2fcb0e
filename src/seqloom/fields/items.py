"""The kinds of items that rows are made of, as models need to know them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.tokenizers.specials import END

__all__ = [
    "FlatRows",
    "ItemKind",
    "Items",
    "Numbers",
    "Pixels",
    "Series",
    "Symbols",
    "Values",
    "batch_dtype",
]

PLACEHOLDER_STEPS = 50  # length of a placeholder that may have any


class ItemKind:
    """Base class of kinds of items."""

    dtype: ClassVar[type[np.generic]] = np.float32
    """Type of the numbers in an encoded row."""

    @property
    def closing(self) -> int:
        """The number of closing items of every row."""
        return 0

    @property
    def symbols(self) -> "Symbols | None":
        """This kind, if its items are symbols; else None."""
        return None

    @property
    def series(self) -> "Series | None":
        """This kind, if its items are steps of a series; else None."""
        return None

    @property
    def pixels(self) -> "Pixels | None":
        """This kind, if its items are pictures; else None."""
        return None

    @property
    def item_size(self) -> int:
        """Numbers that encode one item."""
        raise NotImplementedError

    @property
    def stored_dtype(self) -> "np.dtype[np.generic]":
        """The smallest dtype for the numbers of a row in files."""
        return np.dtype(self.dtype)

    @property
    def stored_size(self) -> int:
        """Numbers per item in a file; 0 for a single id."""
        return self.item_size

    def facts(self) -> dict[str, Any]:
        """What clients are told."""
        return {"numbers": self.item_size}

    def placeholder(self, *, closing: int = 0) -> np.ndarray:
        """A dummy encoded row with `closing` closing items."""
        raise NotImplementedError

    def draw(self, rows: int, length: int, random: np.random.Generator) -> np.ndarray:
        """Draw rows of random items, none of them padding."""
        raise NotImplementedError


@dataclass(frozen=True)
class Symbols(ItemKind):
    """Items are symbols, given by their ids out of `count`; id 0 is padding.

    With `spelling`, an item is a symbol's id followed by the ids of `spelling` characters out of
    `letters`.
    """

    count: int
    spelling: int = 0
    letters: int = 0
    rows: tuple[int, ...] = ()
    """The row of each id in a model's tables, -1 where it has none; empty where rows are ids."""

    dtype = np.int32

    @property
    def closing(self) -> int:
        """One, for `<end>`, unless the vocabulary lacks it."""
        return int(not self.rows or self.rows[END] >= 0)

    @property
    def table_size(self) -> int:
        """The number of rows of an embedding table."""
        return max(self.rows) + 1 if self.rows else self.count

    @property
    def symbols(self) -> "Symbols":
        return self

    @property
    def item_size(self) -> int:
        return 1 + self.spelling

    @property
    def stored_dtype(self) -> "np.dtype[np.generic]":
        """The smallest type that holds every id."""
        return np.dtype(np.uint16 if max(self.count, self.letters) <= 1 << 16 else np.int32)

    @property
    def stored_size(self) -> int:
        """Ids per spelt item; 0 for a single id."""
        return self.item_size if self.spelling else 0

    def facts(self) -> dict[str, Any]:
        """What clients are told."""
        return {"unit": None, "symbols": self.count}

    def placeholder(self, *, closing: int = 0) -> np.ndarray:
        shape = (2, self.item_size) if self.spelling else (2,)
        return np.ones(shape, self.dtype)[: 1 + closing]

    def draw(self, rows: int, length: int, random: np.random.Generator) -> np.ndarray:
        shape = (rows, length, self.item_size) if self.spelling else (rows, length)
        return random.integers(1, min(self.count, self.letters or self.count), shape)


@dataclass(frozen=True)
class Numbers(ItemKind):
    """Items are rows of `count` numbers; a missing target is NaN."""

    count: int

    @property
    def item_size(self) -> int:
        return self.count

    def placeholder(self, *, closing: int = 0) -> np.ndarray:
        return np.zeros((PLACEHOLDER_STEPS, self.count), self.dtype)

    def draw(self, rows: int, length: int, random: np.random.Generator) -> np.ndarray:
        return random.standard_normal((rows, length, self.count), np.float32)


@dataclass(frozen=True)
class Series(Numbers):
    """Items are time steps with `count` numbers each.

    In a source, the last `known` numbers of a step are covariates of the step one horizon later.
    """

    steps: int
    known: int = 0
    quantiles: tuple[float, ...] = ()  # quantiles of a forecast
    forced: float = 1.0  # share of training batches with teacher forcing

    @property
    def series(self) -> "Series":
        return self

    def placeholder(self, *, closing: int = 0) -> np.ndarray:
        return np.zeros((self.steps, self.count), self.dtype)


@dataclass(frozen=True)
class Pixels(ItemKind):
    """Items are pictures: channels, rows and columns of pixels from 0 to 255.

    A row has at most `frames` of them: one, unless it is a video.
    """

    channels: int
    height: int
    width: int
    frames: int = 1

    dtype = np.uint8

    @property
    def pixels(self) -> "Pixels":
        return self

    @property
    def count(self) -> int:
        """Numbers in an item."""
        return self.channels * self.height * self.width

    @property
    def item_size(self) -> int:
        return self.count

    def placeholder(self, *, closing: int = 0) -> np.ndarray:
        return np.full((1, self.count), 255, self.dtype)

    def draw(self, rows: int, length: int, random: np.random.Generator) -> np.ndarray:
        return random.integers(256, size=(rows, length, self.count), dtype=np.uint8)


Items = Symbols | Numbers | Pixels


Values = NDArray[np.int32] | NDArray[np.float32] | NDArray[np.uint8]
"""A cell as numbers: its items, and for items of several numbers a second axis."""


class FlatRows(NamedTuple):
    """The items of several rows in one flat array, with the length of each row."""

    values: Values
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Values]) -> "FlatRows":
        """Flatten rows, of which there may be none."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        values: Any = np.concatenate(rows) if rows else np.zeros(0, np.int32)
        return cls(values, lengths)

    def astype(self, kind: np.dtype[Any]) -> "FlatRows":
        """The same numbers in another type."""
        return FlatRows(self.values.astype(kind, copy=False), self.lengths)

    def append(self, other: "FlatRows") -> "FlatRows":
        """These rows, then others."""
        if not len(other.lengths) or not len(self.lengths):
            return self if len(self.lengths) else other
        values: Any = np.concatenate([self.values, other.values])
        return FlatRows(values, np.concatenate([self.lengths, other.lengths]))

    def pick(self, places: NDArray[np.int64]) -> "FlatRows":
        """Rows by their numbers, in this order."""
        starts, lengths = np.cumsum(self.lengths) - self.lengths, self.lengths[places]
        firsts = np.cumsum(lengths) - lengths
        items = np.arange(int(lengths.sum())) + np.repeat(starts[places] - firsts, lengths)
        return FlatRows(self.values[items], lengths)

    def rows(self) -> list[Values]:
        """Each row by itself."""
        ends = np.cumsum(self.lengths)
        spans = zip((ends - self.lengths).tolist(), ends.tolist(), strict=True)
        return [self.values[start:end] for start, end in spans]


def batch_dtype(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of values in a batch: int64 for ids, otherwise unchanged."""
    return kind if kind in (np.float32, np.uint8) else np.dtype(np.int64)
