"""Encoding of raw inputs: truncation, splitting, errors with their line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import inf
from typing import Any, NamedTuple

import numpy as np

from seqloom.config import Overlong
from seqloom.data.splitting import piece_values
from seqloom.errors import DataError, InputError, SeqloomError
from seqloom.fields import Field, Offsets, Readable, Values
from seqloom.prediction.warnings import InputWarning
from seqloom.remedies import FileLocation, Remedy, Setting

__all__ = [
    "GROUP_SIZE",
    "EncodedInput",
    "InputGroup",
    "InputReader",
    "ReadTokens",
    "check_cells",
    "dummy_input",
]

GROUP_SIZE = 4_096  # inputs per group, so that those of equal length can share a batch, ...
MAX_GROUP_BYTES = 64 * 2**20  # ... or fewer, once files of so many bytes are read
LONE_SURROGATES = re.compile(r"[\ud800-\udfff]")  # not JSON-encodable
UNWRITTEN = re.compile("<unk>|<0x[0-9A-F]{2}>")  # names of tokens that are not in any text


class EncodedInput(NamedTuple):
    """An encoded input, or a piece of one; pieces of an input have its number."""

    number: int  # its index in the group
    values: Values  # its items, with the closing ones
    truncated: bool = False
    warnings: tuple[InputWarning, ...] = ()
    cell: str = ""  # the raw cell
    space: str = ""  # white space after a piece
    start: int = 0  # offset of a piece in the text

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values as bytes, which takes a fraction of the time of an array."""
        number, values, *rest = self
        return _restore_input, (number, values.tobytes(), values.dtype.str, values.shape, *rest)


def _restore_input(
    number: int, content: bytes, kind: str, shape: tuple[int, ...], *rest: Any
) -> EncodedInput:
    return EncodedInput(number, np.ndarray(shape, kind, bytearray(content)), *rest)


class InputGroup(NamedTuple):
    """Consecutive inputs, and the error that ended them, if any."""

    lines: range
    encoded: list[EncodedInput]  # nonblank inputs, or their pieces, in order
    fault: SeqloomError | None
    cells: list[str]


class ReadTokens(NamedTuple):
    """The names and offsets of an input's items."""

    names: Sequence[str]
    offsets: Sequence[Offsets]  # into the raw text; empty if there is no text

    def thin(self, positions: int) -> "ReadTokens":
        """Thin out to the number of the model's positions, each standing for several items, or
        numbered parts of a picture.
        """
        if len(self.names) < positions:
            return ReadTokens([f"{number}" for number in range(1, positions + 1)], [])
        every = -(-len(self.names) // positions)
        if every == 1:
            return self
        ends = [end for _, end in self.offsets]
        merged = [
            (start, ends[min(place + every, len(ends)) - 1])
            for place, (start, _) in enumerate(self.offsets)
        ]
        return ReadTokens(self.names[::every], merged[::every])


class InputReader(NamedTuple):
    """Encodes what a column holds, up to a number of items (S1.6).

    With `keeps_items` every item of an input has an output, so that none may be lost between two
    pieces.
    """

    field: Readable
    max_items: int
    overlong: Overlong = "truncate"
    keeps_items: bool = False

    def groups(
        self, cells: Iterable[str], size: int, *, held: float = MAX_GROUP_BYTES
    ) -> Iterator[InputGroup]:
        """Yield groups of inputs; the last group ends before the first unreadable input.

        A group also ends once its files exceed a number of bytes.
        """
        pending, group = iter(cells), InputGroup(range(0), [], None, [])
        while group.fault is None:
            group = self._group(pending, group.lines.stop, size, held=held)
            if not group.cells and group.fault is None:
                return
            yield group

    def read_all(self, cells: Sequence[str]) -> InputGroup:
        """Read all inputs as one group; raise the error of the first unreadable one."""
        group = self._group(iter(cells), 0, max(1, len(cells)), held=inf)
        if group.fault is not None:
            raise group.fault
        return group

    def read(self, number: int, row: Values, cell: str = "") -> list[EncodedInput]:
        """Truncate or split a row that is too long.

        DataError if that is configured as an error.
        """
        if not self.is_too_long(row):
            return [self.truncate(number, row, cell)]
        if self.overlong == "error":
            raise self._length_error(row)
        if self.overlong == "split" and self.field.can_split:
            return list(self._pieces(number, row, cell))
        return [self.truncate(number, row, cell)]

    def is_too_long(self, row: Values) -> bool:
        """Whether a row is too long for the model; old turns are always dropped."""
        return len(row) - self.field.closing > self.max_items and not self.field.truncates_left

    def _pieces(self, number: int, row: Values, cell: str) -> Iterator[EncodedInput]:
        """Split a text into pieces no longer than the training data."""
        most = min(self.max_items, self.field.longest or self.max_items)
        if self.keeps_items:
            for values in piece_values(self.field, cell, row, most):
                yield self.truncate(number, values, cell)
            return
        pieces, start = self.field.split(cell, most), len(cell) - len(cell.lstrip())
        rows = self.field.rows([each.text for each in pieces])
        for (text, space), values in zip(pieces, rows, strict=True):
            read = self.truncate(number, values, text)
            yield read._replace(space=space, start=start)
            start += len(text) + len(space)

    def _length_error(self, row: Values) -> DataError:
        items, unit = len(row) - self.field.closing, self.field.length_unit or "items"
        problem = f"the input has {items:,} {unit}, and this model takes {self.max_items:,}"
        other = "split" if self.field.can_split else "truncate"
        return DataError(
            problem, remedy=Remedy("shorten it, or set {}", Setting("overlong", other))
        )

    def truncate(self, number: int, row: Values, cell: str = "") -> EncodedInput:
        """Truncate the encoded row of a cell to what the model takes."""
        items = len(row) - self.field.closing
        warnings = InputWarning.of(self.field.unknown_share(row), items, self.field.longest)
        kept = self.field.truncate(row, self.max_items)
        return EncodedInput(number, kept, items > self.max_items, warnings, cell)

    def read_tokens(self, source: EncodedInput) -> "ReadTokens":
        """The names of an input's items, and their offsets in its text.

        An unknown token, or a byte of a character, is named by the raw text.
        """
        names = self.field.tokens(source.values)
        row = None if source.truncated else source.values
        offsets = self.field.offsets(source.cell, row) if source.cell else []
        if source.truncated and offsets:
            (row,) = self.field.rows([source.cell])
            ids = row if row.ndim == 1 else row[:, 0]
            numbered = np.column_stack([ids, np.arange(len(row))]).astype(np.int32)
            offsets = [offsets[n] for n in self.field.truncate(numbered, self.max_items)[:, 1]]
        if len(offsets) != len(names):
            return ReadTokens(names, [])
        text = LONE_SURROGATES.sub("\ufffd", self.field.plain_text(source.cell))
        places = zip(names, offsets, strict=True)
        shown = [
            text[start:end]
            if name[:1] == "<" and start < end and UNWRITTEN.fullmatch(name)
            else name
            for name, (start, end) in places
        ]
        return ReadTokens(shown, offsets)

    def _group(self, pending: Iterator[str], line: int, size: int, *, held: float) -> InputGroup:
        """Read the next group; files are read one by one, while each exists."""
        cells: list[str] = []
        encoded: list[EncodedInput] = []
        fault, most, total = None, 1 if self.field.reads_files else size, 0
        while fault is None and len(cells) < size and total < held:
            some, fault = self._valid_cells(pending, most, line + len(cells))
            read, long = self._encode_cells(some, len(cells), line)
            if long is not None:
                some, fault = some[: long.line - 1 - line - len(cells)], long
            total += sum(each.values.nbytes for each in read)
            cells += some
            encoded += read
            if len(some) < most:
                break
        return InputGroup(range(line, line + len(cells)), encoded, fault, cells)

    def _valid_cells(
        self, pending: Iterator[str], count: int, line: int
    ) -> tuple[list[str], SeqloomError | None]:
        """The next inputs up to the first unreadable one, and its error."""
        cells, fault = _take_cells(pending, count)
        for number, cell in enumerate(cells):
            wrong = self.field.fault(cell) if self._is_present(cell) else None
            if wrong is not None:
                return cells[:number], _input_error(line + number + 1, wrong)
        return cells, fault

    def _encode_cells(
        self, cells: list[str], first: int, line: int
    ) -> tuple[list[EncodedInput], InputError | None]:
        """Encode nonblank cells up to the first that is too long, and return its error; `start` is
        the first cell's number in its group, which begins at `line`.
        """
        numbers = [number for number, cell in enumerate(cells) if self._is_present(cell)]
        rows = self.field.rows([cells[number] for number in numbers])
        encoded: list[EncodedInput] = []
        for number, row in zip(numbers, rows, strict=True):
            try:
                encoded += self.read(first + number, row, cells[number])
            except DataError as error:
                return encoded, _input_error(line + first + number + 1, error)
        return encoded, None

    def _is_present(self, cell: str) -> bool:
        return bool(cell.strip()) or self.field.is_absent


def _take_cells(pending: Iterator[str], count: int) -> tuple[list[str], SeqloomError | None]:
    """The next inputs, and the error that ended them, if any."""
    cells: list[str] = []
    try:
        cells.extend(islice(pending, count))
    except SeqloomError as error:
        return cells, error
    return cells, None


def _input_error(line: int, wrong: DataError) -> InputError:
    """The error of an input, with its line."""
    place, problem, _ = wrong.parts()
    problem = f"{place}: {problem}" if place else problem
    return InputError(problem, place=FileLocation("", line), remedy=wrong.remedy)


def check_cells(side: str, cells: Sequence[str], field: Field) -> None:
    """DataError for the first pair whose cell on this side is invalid."""
    for number, cell in enumerate(cells, 1):
        wrong = field.fault(cell)
        if wrong is not None:
            raise wrong.at(side).at(f"pair {number}")


def dummy_input(field: Field) -> EncodedInput:
    """A valid dummy input for any kind of source."""
    return EncodedInput(0, field.items.placeholder(closing=field.closing))
