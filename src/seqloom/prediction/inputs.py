"""Raw inputs as a model reads them: encoded, and cut to what it takes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqloom.config import Overlong
from seqloom.data.splitting import piece_values
from seqloom.errors import DataError, InputError, SeqloomError
from seqloom.fields import Field, Offsets, Readable, Values
from seqloom.prediction.warnings import InputWarning
from seqloom.remedies import FileLocation, Remedy, Setting

if TYPE_CHECKING:
    pass

__all__ = [
    "GROUP_SIZE",
    "EncodedInput",
    "InputGroup",
    "InputReader",
    "ReadTokens",
    "check_cells",
    "dummy_input",
]

GROUP_SIZE = 4_096  # inputs looked at together, so that those of one length can share a batch, ...
MAX_GROUP_BYTES = 64 * 2**20  # ... or fewer, where files of so many bytes have been read
LONE_SURROGATES = re.compile(r"[\ud800-\udfff]")  # which no answer can be written with
UNWRITTEN = re.compile("<unk>|<0x[0-9A-F]{2}>")  # names of tokens that nobody has written


class EncodedInput(NamedTuple):
    """One input as the model reads it, or a piece of one; pieces of an input have its number."""

    number: int  # its place in the group
    values: Values  # its items, closed
    truncated: bool = False
    warnings: tuple[InputWarning, ...] = ()
    cell: str = ""  # as it was given
    space: str = ""  # after a piece of a text that is split
    start: int = 0  # of a piece in the text


class InputGroup(NamedTuple):
    """Inputs that come one after another, and the error that ended them if one did."""

    lines: range
    encoded: list[EncodedInput]  # those that are not blank, or their pieces, in order
    fault: SeqloomError | None
    cells: list[str]


class ReadTokens(NamedTuple):
    """The items of an input as a reader knows them."""

    names: Sequence[str]
    offsets: Sequence[Offsets]  # into the text as it was given; none where there is no text

    def thin(self, positions: int) -> "ReadTokens":
        """As many as a model has positions for, each of which stands for several items, or for
        parts of a picture, which have numbers."""
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

    `keeps_items` says that every item of an input has an output, so that none may be lost between
    two pieces.
    """

    field: Readable
    max_items: int
    overlong: Overlong = "truncate"
    keeps_items: bool = False

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

    def read(self, number: int, row: Values, cell: str = "") -> list[EncodedInput]:
        """A row as the model reads it: truncated or in pieces where it is too long.

        DataError where that is an error.
        """
        if not self.is_too_long(row):
            return [self.truncate(number, row)._replace(cell=cell)]
        if self.overlong == "error":
            raise self._length_error(row)
        if self.overlong == "split" and self.field.can_split:
            return list(self._pieces(number, row, cell))
        return [self.truncate(number, row)._replace(cell=cell)]

    def is_too_long(self, row: Values) -> bool:
        """Whether a row has more items than the model takes; old turns are always left out."""
        return len(row) - self.field.closing > self.max_items and not self.field.truncates_left

    def _pieces(self, number: int, row: Values, cell: str) -> Iterator[EncodedInput]:
        """A text in pieces that are no longer than what the model has learnt from."""
        most = min(self.max_items, self.field.longest or self.max_items)
        if self.keeps_items:
            for values in piece_values(self.field, cell, row, most):
                yield self.truncate(number, values)._replace(cell=cell)
            return
        pieces, start = self.field.split(cell, most), len(cell) - len(cell.lstrip())
        rows = self.field.rows([each.text for each in pieces])
        for (text, space), values in zip(pieces, rows, strict=True):
            read = self.truncate(number, values)
            yield read._replace(cell=text, space=space, start=start)
            start += len(text) + len(space)

    def _length_error(self, row: Values) -> DataError:
        items, unit = len(row) - self.field.closing, self.field.length_unit or "items"
        problem = f"the input has {items:,} {unit}, and this model takes {self.max_items:,}"
        other = "split" if self.field.can_split else "truncate"
        return DataError(
            problem, remedy=Remedy("shorten it, or set {}", Setting("overlong", other))
        )

    def truncate(self, number: int, row: Values) -> EncodedInput:
        """A row that is encoded already, cut to what the model takes."""
        items = len(row) - self.field.closing
        warnings = InputWarning.of(self.field.unknown_share(row), items, self.field.longest)
        kept = self.field.truncate(row, self.max_items)
        return EncodedInput(number, kept, items > self.max_items, warnings)

    def read_tokens(self, source: EncodedInput) -> "ReadTokens":
        """What the items of an input are called, and where they stand in its text.

        A token that is not known, or is a byte of a character, is called what was written there.
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
        """The next group; files are read one by one, so that each is while it is at hand."""
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
        """The next inputs, up to the first that cannot be read, and its error."""
        cells, fault = _take_cells(pending, count)
        for number, cell in enumerate(cells):
            wrong = self.field.fault(cell) if self._is_present(cell) else None
            if wrong is not None:
                return cells[:number], _input_error(line + number + 1, wrong)
        return cells, fault

    def _encode_cells(
        self, cells: list[str], first: int, line: int
    ) -> tuple[list[EncodedInput], InputError | None]:
        """The cells that are not blank, up to the first that is too long, and the error of that
        one; the first of all cells has this number in its group, which begins at this line."""
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


def dummy_input(field: Field) -> EncodedInput:
    """An input that a model can read, whatever its source is made of."""
    return EncodedInput(0, field.items.placeholder(closing=field.closing))
