"""Raw inputs as a model reads them: encoded, cut to what it takes, in batches of like length."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import inf
from typing import NamedTuple

import numpy as np
import torch

from seqloom.data import batch_dtype
from seqloom.errors import DataError, InputError, SeqloomError
from seqloom.fields import EMPTY, Field, Readable, Values
from seqloom.model import Source
from seqloom.prediction.warnings import InputWarning
from seqloom.remedies import FileLocation

__all__ = [
    "GROUP_SIZE",
    "EncodedInput",
    "InputGroup",
    "InputReader",
    "batch_by_length",
    "check_cells",
    "pad_batch",
]

GROUP_SIZE = 4_096  # inputs looked at together, so that those of one length can share a batch, ...
MAX_GROUP_BYTES = 64 * 2**20  # ... or fewer, where files of so many bytes have been read
BATCH_POSITIONS = 4_096  # of the source, in a batch


class EncodedInput(NamedTuple):
    """One input as the model reads it."""

    number: int  # its place in the group
    values: Values  # its items, closed
    truncated: bool = False
    warnings: tuple[InputWarning, ...] = ()
    cell: str = ""  # as it was given


class InputGroup(NamedTuple):
    """Inputs that come one after another, and the error that ended them if one did."""

    lines: range
    encoded: list[EncodedInput]  # those that are not blank
    fault: SeqloomError | None
    cells: list[str]


class InputReader(NamedTuple):
    """Encodes what a column holds, up to a number of items (S1.6)."""

    field: Readable
    max_items: int

    def groups(
        self, cells: Iterable[str], size: int, *, held: float = MAX_GROUP_BYTES
    ) -> Iterator[InputGroup]:
        """So many inputs at a time; the last group ends before the first that cannot be read.

        Files end a group too, once they hold so many bytes as the model reads them.
        """
        pending, group = iter(cells), InputGroup(range(0), [], None, [])
        while group.fault is None:
            group = self._group(pending, group.lines.stop, size, held=held)
            if not group.cells and group.fault is None:
                return
            yield group

    def read_all(self, cells: Sequence[str]) -> InputGroup:
        """All inputs in one group, or the error of the first that cannot be read."""
        nothing = InputGroup(range(0), [], None, [])
        group = next(self.groups(cells, max(1, len(cells)), held=inf), nothing)
        if group.fault is not None:
            raise group.fault
        return group

    def truncate(self, number: int, row: Values) -> EncodedInput:
        """A row that is encoded already, cut to what the model takes."""
        items = len(row) - self.field.closing
        warnings = InputWarning.of(self.field.unknown_share(row), items, self.field.longest)
        kept = self.field.truncate(row, self.max_items)
        return EncodedInput(number, kept, items > self.max_items, warnings)

    def _group(self, pending: Iterator[str], line: int, size: int, *, held: float) -> InputGroup:
        """The next group; files are read one by one, so that each is while it is at hand."""
        cells: list[str] = []
        encoded: list[EncodedInput] = []
        fault, most, total = None, 1 if self.field.reads_files else size, 0
        while fault is None and len(cells) < size and total < held:
            some, fault = self._valid_cells(pending, most, line + len(cells))
            read = self._encode_cells(some, len(cells))
            total += sum(each.values.nbytes for each in read)
            cells += some
            encoded += read
            if len(some) < most:
                break
        return InputGroup(range(line, line + len(cells)), encoded, fault, cells)

    def _valid_cells(
        self, pending: Iterator[str], count: int, line: int
    ) -> tuple[list[str], SeqloomError | None]:
        """The next inputs, up to the first that cannot be read, and its error."""
        cells, fault = _take_cells(pending, count)
        for number, cell in enumerate(cells):
            wrong = self.field.fault(cell) if self._is_present(cell) else None
            if wrong is not None:
                return cells[:number], _input_error(line + number + 1, wrong)
        return cells, fault

    def _encode_cells(self, cells: list[str], first: int) -> list[EncodedInput]:
        """The cells that are not blank; the first of all has that number."""
        numbers = [number for number, cell in enumerate(cells) if self._is_present(cell)]
        rows = self.field.rows([cells[number] for number in numbers])
        return [
            self.truncate(first + number, row)._replace(cell=cells[number])
            for number, row in zip(numbers, rows, strict=True)
        ]

    def _is_present(self, cell: str) -> bool:
        return bool(cell.strip()) or self.field.is_absent


def _take_cells(pending: Iterator[str], count: int) -> tuple[list[str], SeqloomError | None]:
    """The next inputs, and the error that ended them if one did."""
    cells: list[str] = []
    try:
        cells.extend(islice(pending, count))
    except SeqloomError as error:
        return cells, error
    return cells, None


def _input_error(line: int, wrong: DataError) -> InputError:
    """What is wrong with an input as the error of its line."""
    place, problem, _ = wrong.parts()
    problem = f"{place}: {problem}" if place else problem
    return InputError(problem, place=FileLocation("", line), remedy=wrong.remedy)


def check_cells(side: str, cells: Sequence[str], field: Field) -> None:
    """DataError at the first pair whose cell on this side its field cannot take."""
    for number, cell in enumerate(cells, 1):
        wrong = field.fault(cell)
        if wrong is not None:
            raise wrong.at(side).at(f"pair {number}")


def batch_by_length(lengths: list[int], *, most: int) -> Iterator[list[int]]:
    """Numbers of rows of like length together, longest first, each batch within the limits."""
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    start = 0
    while start < len(order):
        count = max(1, min(most, BATCH_POSITIONS // lengths[order[start]]))
        yield order[start : start + count]
        start += count


def pad_batch(rows: list[Values]) -> Source:
    """Rows as one batch."""
    lengths = np.array([len(row) for row in rows])
    shape = (len(rows), lengths.max(), *rows[0].shape[1:])
    table = np.full(shape, EMPTY, dtype=batch_dtype(rows[0].dtype))
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return Source(torch.from_numpy(table), torch.from_numpy(lengths))
