"""A column of sequences of vectors, each number less its mean, in units of its spread (S1.1)."""

import json
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.config.columns import COLUMNS, VectorSequenceConfig
from seqloom.errors import DataError
from seqloom.fields.file_fields import FileField
from seqloom.fields.items import Numbers, Values
from seqloom.fields.numbers import (
    FINITE,
    parse_numbers,
    restore_scales,
    scales,
    write_numbers,
)
from seqloom.tokenizers.specials import FieldState

__all__ = ["VectorSequenceField", "names_array"]

MOST_NUMBERS = 2**26  # of a cell
WIDEST = 65_536  # numbers of a step
LEARNT_NUMBERS = 2**24  # that means and spreads are computed from
SHOWN_NUMBERS = 64  # of a sequence that is written out whole
FORM = "write a list of numbers, or a list with an equally long list for each step"
ARRAY_FORM = "save an array of numbers of steps × numbers with numpy.save"

Table = NDArray[np.float64]


def names_array(cell: str) -> bool:
    """Whether a cell is the name of an array file, rather than numbers."""
    return cell.rstrip().lower().endswith(".npy")


@COLUMNS.part("vectors")
class VectorSequenceField(FileField[VectorSequenceConfig]):
    """A cell is a list of steps in JSON, or names an array file; an item is a step."""

    takes_lists: ClassVar[bool] = True
    length_unit: ClassVar[str] = "steps"

    def __init__(self, config: VectorSequenceConfig, mean: Table, spread: Table) -> None:
        """Use `learn` or `restore`."""
        super().__init__(config)
        self.mean = mean
        self.spread = spread

    @classmethod
    def learn(cls, config: VectorSequenceConfig, cells: Iterable[str], *, seed: int) -> Self:
        """The mean and the standard deviation of each number of a step; where it is constant, 1.

        The first cell that can be read says how wide a step is.
        """
        stream = (table for cell in cells if (table := _read_or_none(cell)) is not None)
        first = next(stream, None)
        if first is None:
            raise DataError("there is no cell with a sequence of numbers", remedy=FORM)
        tables, held = [first], first.size
        for table in stream:
            if table.shape[1] == first.shape[1]:
                tables.append(table)
                held += table.size
            if held >= LEARNT_NUMBERS:
                break
        return cls(config, *scales(np.concatenate(tables)))

    @classmethod
    def restore(
        cls, config: VectorSequenceConfig, facts: Mapping[str, Any], directory: Path
    ) -> Self:
        """The field with these facts."""
        return cls(config, *restore_scales(facts, directory, most=WIDEST))

    @classmethod
    def placeholder_items(cls, config: VectorSequenceConfig) -> Numbers:
        """Items of the kind that such a column has, before there is any data."""
        return Numbers(1)

    @property
    def items(self) -> Numbers:
        """As many numbers as a step has."""
        return Numbers(len(self.mean))

    def tokens(self, row: Any) -> list[str]:
        """The number of each step that has one, or else which step it is."""
        if len(self.mean) == 1:
            return [write_numbers(each) for each in self.unscale(row)]
        return [f"step {number}" for number in range(1, len(row) + 1)]

    def cell(self, row: Any) -> str:
        """A short sequence as a list; what stands for a long one where only text can be shown."""
        steps, width = np.shape(row)
        if steps * width > SHOWN_NUMBERS:
            numbers = f" of {width:,} numbers" if width > 1 else ""
            return f"<{steps:,} steps{numbers}>"
        table = [[float(f"{each:.6g}") for each in step] for step in self.unscale(row)]
        return json.dumps(table if width > 1 else [each for (each,) in table])

    def unscale(self, row: Any) -> Table:
        """The numbers themselves."""
        return np.asarray(np.asarray(row) * self.spread + self.mean, np.float64)

    def describe(self) -> str:
        """How many numbers a step has."""
        width = len(self.mean)
        return f"sequences of {'numbers' if width == 1 else f'vectors of {width:,} numbers'}"

    def _state(self) -> FieldState:
        return FieldState({"mean": self.mean.tolist(), "spread": self.spread.tolist()})

    def _row(self, cell: str) -> Values:
        table, width = read_sequence(cell), len(self.mean)
        if table.shape[1] != width:
            raise DataError(
                f"{_name(cell)}a step has {_amount(table.shape[1])} where the model reads "
                f"{_amount(width)}",
                remedy="give every step as many as the training data",
            )
        return ((table - self.mean) / self.spread).astype(np.float32)


def read_sequence(cell: str) -> Table:
    """The numbers of a cell, a row for each step; DataError where it does not hold such."""
    table = _read_array(cell.strip()) if names_array(cell) else _read_list(cell)
    if not len(table) or not table.shape[1]:
        raise DataError(f"{_name(cell)}the sequence has no steps", remedy="give one at least")
    if table.size > MOST_NUMBERS or table.shape[1] > WIDEST:
        raise DataError(
            f"{_name(cell)}a sequence of {len(table):,} steps of {_amount(table.shape[1])} is too "
            "large",
            remedy="cut it into pieces",
        )
    wrong = np.argwhere(~np.isfinite(table))
    if len(wrong):
        step, number = wrong[0].tolist()
        raise DataError(
            f"{_name(cell)}number {number + 1} of step {step + 1} is {table[step, number]}",
            remedy=FINITE,
        )
    return np.asarray(table, np.float64)


def _read_or_none(cell: str) -> Table | None:
    try:
        return read_sequence(cell)
    except DataError:
        return None


def _read_list(cell: str) -> Table:
    """A list in JSON, or numbers set apart by spaces or commas."""
    if not cell.lstrip().startswith("["):
        found: Any = parse_numbers(cell)
    else:
        try:
            found = json.loads(cell)
        except (ValueError, RecursionError):
            found = None
    if found is None:
        raise DataError(f"{reprlib.repr(cell.strip())} is no sequence of numbers", remedy=FORM)
    steps = [each if isinstance(each, list) else [each] for each in found]
    _check_steps(found, steps)
    try:
        return np.array(steps, np.float64).reshape(len(steps), len(steps[0]) if steps else 0)
    except OverflowError:
        raise DataError("a number is too large", remedy=FINITE) from None


def _check_steps(found: Sequence[Any], steps: Sequence[list[Any]]) -> None:
    """DataError at the first step that is not as wide as the first or holds anything else."""
    for number, (given, step) in enumerate(zip(found, steps, strict=True), 1):
        if len(step) != len(steps[0]) or isinstance(given, list) != isinstance(found[0], list):
            raise DataError(
                f"step {number} has {_amount(len(step))} where step 1 has {_amount(len(steps[0]))}"
                if len(step) != len(steps[0])
                else f"step {number} and step 1 are not both lists",
                remedy="give every step as many numbers",
            )
        strange = [each for each in step if isinstance(each, bool | str | list | dict | None)]
        if strange:
            raise DataError(
                f"step {number} holds {reprlib.repr(strange[0])}, which is no number", remedy=FINITE
            )


def _read_array(name: str) -> NDArray[Any]:
    """An array file, of which nothing is read but numbers."""
    try:
        found: NDArray[Any] = np.lib.format.open_memmap(name, mode="r")
    except OSError as error:
        why = error.strerror or "it is not a file"
        raise DataError(
            f"{name} cannot be read ({why})", remedy="mend the name or the file"
        ) from None
    except (ValueError, EOFError, TypeError):
        raise DataError(
            f"{name} is not an array of numbers; Python objects in it are never loaded",
            remedy=ARRAY_FORM,
        ) from None
    if found.dtype.kind not in "biuf" or found.ndim not in (1, 2):
        shape = " × ".join(map(str, found.shape)) or "one number"
        raise DataError(f"{name} is an array of {found.dtype}, {shape}", remedy=ARRAY_FORM)
    return found[:, None] if found.ndim == 1 else found


def _name(cell: str) -> str:
    """What a message begins with: the file, where one is named."""
    return f"{cell.strip()}: " if names_array(cell) else ""


def _amount(size: int) -> str:
    return "one number" if size == 1 else f"{size:,} numbers"
