"""Standardized columns of numbers."""

import json
import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from seqloom.config.columns import COLUMNS, NumberConfig, VectorConfig
from seqloom.errors import DataError, RunError
from seqloom.fields.field_files import FACTS, PersistentField
from seqloom.fields.items import Numbers, Values
from seqloom.tokenizers.specials import FieldState

__all__ = [
    "FINITE",
    "NumberField",
    "VectorField",
    "parse_numbers",
    "read_number",
    "restore_scales",
    "scales",
    "write_numbers",
]

ROUNDING = 1e-9  # relative rounding error up to which a number counts as constant
FINITE = "write finite numbers"
DECIMAL_POINT = f"{FINITE}, with a decimal point and no thousands separators"

Kind = TypeVar("Kind", NumberConfig, VectorConfig)
Table = NDArray[np.float64]


class _NumericField(PersistentField[Kind]):
    """Base of fields with one item per cell: its standardized numbers."""

    most: ClassVar[int]  # numbers per cell
    cure: ClassVar[str]  # remedy for an invalid cell

    def __init__(
        self, config: Kind, mean: NDArray[np.float64], spread: NDArray[np.float64]
    ) -> None:
        """Use `learn` or `restore`."""
        self.config: Kind = config
        self.mean = mean
        self.spread = spread

    @classmethod
    def learn(cls, config: Kind, cells: Iterable[str], *, seed: int) -> Self:
        """Learn the mean and the standard deviation (1 if constant) of each number."""
        column = iter(cells)
        first = next(column, None)
        both = column if first is None else chain([first], column)
        read = [numbers for cell in both if (numbers := cls._read(cell)) is not None]
        if not read or len(read[0]) > cls.most:
            amount = f"one to {_amount(cls.most)}" if cls.most > 1 else _amount(1)
            named = (
                "" if first is None else f"the first cell is {reprlib.repr(first.strip())}, and "
            )
            raise DataError(f"{named}there is no cell of {amount}", remedy=cls.cure)
        size = len(read[0])
        table = np.array([numbers for numbers in read if len(numbers) == size])
        return cls(config, *scales(table))

    @classmethod
    def restore(cls, config: Kind, facts: Mapping[str, Any], directory: Path) -> Self:
        """The field with these facts."""
        return cls(config, *restore_scales(facts, directory, most=cls.most))

    @classmethod
    def placeholder_items(cls, config: Kind) -> Numbers:
        """Items of the kind that such a column has, before there is any data."""
        return Numbers(1)

    @property
    def items(self) -> Numbers:
        """As many numbers as a cell has."""
        return Numbers(len(self.mean))

    def fault(self, cell: str) -> DataError | None:
        """The error of a cell that is not so many finite numbers."""
        numbers, size = self._read(cell), len(self.mean)
        if numbers is None:
            return _not_numbers(cell, size, self.cure)
        if len(numbers) != size:
            return DataError(
                f"there are {_amount(len(numbers))} where {_amount(size)} should be",
                remedy="mend it",
            )
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """Each cell as one row of numbers."""
        numbers = np.array([self._read(cell) for cell in cells], np.float64)
        return list(self._scale(numbers.reshape(-1, 1, len(self.mean))))

    def tokens(self, row: Any) -> list[str]:
        """The unscaled numbers of each item."""
        return [write_numbers(each) for each in self.unscale(np.asarray(row))]

    def cell(self, row: Any) -> str:
        """The unscaled numbers of the only item."""
        return self.tokens(row)[0]

    def unscale(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Undo the standardization."""
        return np.asarray(values * self.spread + self.mean, np.float64)

    def describe(self) -> str:
        """The number of numbers in a cell, and their scale."""
        low, high = self.mean - self.spread, self.mean + self.spread
        size = len(self.mean)
        usual = f", mostly from {low[0]:.4g} to {high[0]:.4g}" if size == 1 else f" of {size:,}"
        return f"{self.config.kind}s{usual}"

    def _scale(self, numbers: NDArray[np.float64]) -> NDArray[np.float32]:
        return ((numbers - self.mean) / self.spread).astype(np.float32)

    def _state(self) -> FieldState:
        return FieldState({"mean": self.mean.tolist(), "spread": self.spread.tolist()})

    @staticmethod
    def _read(cell: str) -> list[float] | None:
        """Parse a cell; None if it is invalid."""
        raise NotImplementedError


@COLUMNS.part("number")
class NumberField(_NumericField[NumberConfig]):
    """A field of one number per cell, with a decimal point and no thousands separators."""

    most = 1
    cure = DECIMAL_POINT

    @staticmethod
    def _read(cell: str) -> list[float] | None:
        number = _parse_number(cell)
        return None if number is None else [number]


@COLUMNS.part("vector")
class VectorField(_NumericField[VectorConfig]):
    """A field of vectors: numbers separated by spaces or commas, or a JSON array."""

    most = 65_536
    cure = FINITE

    @staticmethod
    def _read(cell: str) -> list[float] | None:
        return parse_numbers(cell)


def scales(table: Table) -> tuple[Table, Table]:
    """The mean and the standard deviation of each column, ignoring missing numbers.

    The deviation is 1 if a column is constant up to rounding.
    """
    mean, spread = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    return mean, np.where(spread > ROUNDING * np.abs(mean), spread, 1.0)


def restore_scales(facts: Mapping[str, Any], directory: Path, *, most: int) -> tuple[Table, Table]:
    """Restore saved means and deviations of up to so many numbers; RunError if they are damaged."""
    try:
        mean, spread = (np.array(facts[name], np.float64) for name in ("mean", "spread"))
        sound = mean.shape == spread.shape and mean.ndim == 1 and 0 < len(mean) <= most
        sound = sound and bool(np.isfinite(mean).all() and (spread > 0).all())
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise RunError(
            "its scale is damaged", place=directory / FACTS, remedy="restore it from a copy"
        )
    return mean, spread


def write_numbers(numbers: NDArray[np.floating]) -> str:
    """Format numbers as a cell, to six digits."""
    return " ".join(f"{number:.6g}" for number in numbers)


def parse_numbers(cell: str) -> list[float] | None:
    """Parse the finite numbers of a cell; None if it has anything else."""
    text = cell.strip()
    try:
        found = json.loads(text) if text.startswith("[") else text.replace(",", " ").split()
        numbers = [float(number) for number in found]
    except (ValueError, TypeError, RecursionError, OverflowError):
        return None
    return numbers if numbers and all(map(math.isfinite, numbers)) else None


def read_number(cell: str) -> float:
    """Parse a cell of a NumberField; DataError if it is invalid."""
    number = _parse_number(cell)
    if number is None:
        raise _not_numbers(cell, 1, DECIMAL_POINT)
    return number


def _parse_number(cell: str) -> float | None:
    """Parse a finite number; None for anything else, such as `3,14` or `[5]`."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _not_numbers(cell: str, size: int, cure: str) -> DataError:
    return DataError(f"{reprlib.repr(cell.strip())} is not {_amount(size)}", remedy=cure)


def _amount(size: int) -> str:
    return "one number" if size == 1 else f"{size:,} numbers"
