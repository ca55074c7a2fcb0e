"""Tables of plain text: the first line may name the columns, and fixes how many there are.

TSV: a tab always separates two cells. There is no quoting, since sentences contain quotes.

CSV: quoted as by spreadsheets, with semicolons in place of commas if the first lines have only
those, as spreadsheets write it where the comma is the decimal mark.

A quote opens a cell only at its start, `""` stands for one quote, a line end inside quotes is part
of the text, and the place of a record is the line it starts on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.errors import DataError
from seqloom.readers.lines import (
    LONGEST_LINE,
    Fault,
    FileLocation,
    Reason,
    expand_sound,
    map_lines,
    text_lines,
)
from seqloom.readers.reader import READERS, BlockParser, ColumnSelection, FileReader, Header, Record
from seqloom.remedies import either

__all__ = [
    "CsvReader",
    "TsvReader",
    "csv_records",
    "row_record",
    "select_cells",
    "separator_of",
    "tsv_records",
]

TABS = "write tabs inside a text as spaces"
FIRST_LINES = 20  # of a CSV file, that tell what its columns are set apart by


def select_cells(
    records: Iterable[Record | Fault], config: DataConfig, *, cure: str
) -> Iterator[Record | Fault]:
    """Select the wanted cells of each record; the first record fixes the number of cells.

    `cure` is the remedy for a row with another number of cells.
    """
    selector = _CellSelector(ColumnSelection.of(config), cure)
    empty = True
    for each in expand_sound(records, selector.select):
        empty = False
        yield each
    if empty:
        selector.check_rows()


class _CellSelector:
    """Picks cells as the first record settles it."""

    def __init__(self, wanted: ColumnSelection, cure: str) -> None:
        self._wanted = wanted
        self._cure = cure
        self._header: Header | None = None
        self._file = ""

    def select(self, record: Record) -> Iterator[Record | Fault]:
        """The wanted cells, unless the record names the columns."""
        place, cells = record
        header = self._header
        if header is None:
            header = self._header = Header.from_first_line(self._wanted, cells, place)
            self._file = place.file
            if header.names:
                return
        if len(cells) != header.width:
            problem = f"expected {header.width} columns, found {len(cells)}"
            yield Fault(Reason.COLUMNS, place, problem, self._cure)
        else:
            yield Record(place, [cells[column] for column in header.columns])

    @property
    def header(self) -> Header | None:
        """What the first record has settled, once it was read."""
        return self._header

    def check_rows(self) -> None:
        """DataError where nothing but a header was read."""
        if self._header is not None and self._header.names:
            raise DataError(
                "holds a header and no rows", place=self._file, remedy="add rows below it"
            )


def row_record(place: FileLocation, cells: list[str]) -> Record | Fault:
    """The record of a row; a fault if it is blank."""
    if len(cells) == 1 and not cells[0].strip():
        return Fault(Reason.BLANK, place, "the line is blank", "remove it")
    return Record(place, cells)


@READERS.part("tsv")
class TsvReader(FileReader):
    """Reads TSV files."""

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """The wanted cells of each line."""
        records = tsv_records(text_lines(path, max_line=config.max_line), str(path))
        return select_cells(records, config, cure=TABS)

    def block_parser(self, path: Path, config: DataConfig) -> BlockParser:
        """A parser of blocks of lines, once the columns are known."""
        return _TsvBlocks(str(path), config)

    def preview(self, path: Path) -> Iterator[Record | Fault]:
        """All cells of each line."""
        return tsv_records(text_lines(path, max_line=LONGEST_LINE), str(path))


def tsv_records(
    lines: Iterable[str | Fault], file: str, *, first: int = 1
) -> Iterator[Record | Fault]:
    """Yield one record per line; `first` is the number of the first."""

    def record(line: str, place: FileLocation) -> Record | Fault:
        return row_record(place, line.split("\t"))

    return map_lines(lines, file, record, first=first)


class _TsvBlocks:
    """Reads blocks of a TSV file; the first record determines the columns."""

    def __init__(self, file: str, config: DataConfig) -> None:
        self._file = file
        self._selector = _CellSelector(ColumnSelection.of(config), TABS)

    @property
    def is_ready(self) -> bool:
        return self._selector.header is not None

    def records(self, lines: Iterator[str | Fault], first: int) -> Iterator[Record | Fault]:
        found = tsv_records(lines, self._file, first=first)
        return expand_sound(found, self._selector.select)

    def clean_cells(self, lines: list[str]) -> list[list[str]] | None:
        header = self._selector.header
        rows = [line.split("\t") for line in lines]
        if header is None or set(map(len, rows)) != {header.width}:
            return None
        return [[row[column] for row in rows] for column in header.columns]

    def check_rows(self) -> None:
        self._selector.check_rows()


@READERS.part("csv")
class CsvReader(FileReader):
    """Reads CSV files."""

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """The wanted cells of each row."""
        lines = text_lines(path, max_line=config.max_line)
        records = csv_records(lines, str(path), max_line=config.max_line)
        return select_cells(records, config, cure="put texts with commas in double quotes")

    def preview(self, path: Path) -> Iterator[Record | Fault]:
        """All cells of each row."""
        lines = text_lines(path, max_line=LONGEST_LINE)
        return csv_records(lines, str(path), max_line=LONGEST_LINE)

    def note(self, path: Path) -> str:
        """Whether semicolons are read as commas."""
        first = list(islice(text_lines(path, max_line=LONGEST_LINE), FIRST_LINES))
        return "its columns are set apart by semicolons" if separator_of(first) == ";" else ""


def separator_of(lines: Sequence[str | Fault]) -> str:
    """What the first lines of a CSV file set columns apart by: a semicolon where the first row has
    no comma, and each of two or more has as many semicolons as the first; otherwise a comma."""
    rows = list(_rows_without_quotes(lines))
    if len(rows) < 2 or "," in rows[0]:
        return ","
    counts = [row.count(";") for row in rows]
    return ";" if 0 < counts[0] == min(counts) else ","


def _rows_without_quotes(lines: Iterable[str | Fault]) -> Iterator[str]:
    """The text outside quotes of each whole row."""
    text = ""
    for line in lines:
        text += line if isinstance(line, str) else line.text or ""
        if text.count('"') % 2 == 0:
            yield "".join(text.split('"')[::2])
            text = ""


def csv_records(
    lines: Iterable[str | Fault], file: str, *, max_line: int
) -> Iterator[Record | Fault]:
    """One record for each row, which may take several lines; a quote left open is an error."""
    rest = iter(lines)
    first = list(islice(rest, FIRST_LINES))
    separator = separator_of(first)
    row: _OpenRow | None = None
    for number, line in enumerate(chain(first, rest), 1):
        if row is None and isinstance(line, str) and '"' not in line:
            yield row_record(FileLocation(file, number), line.split(separator))
            continue
        row = row or _OpenRow(FileLocation(file, number), max_line, separator)
        row.read(line)
        if not row.in_quotes:
            yield row.result()
            row = None
    if row is not None:
        raise row.open_quote("never closed")


@dataclass
class _OpenRow:
    """A CSV row being read line by line, in linear time."""

    place: FileLocation
    max_line: int
    separator: str
    length: int = 0
    in_quotes: bool = False
    cells: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    fault: Fault | None = None

    def read(self, line: str | Fault) -> None:
        """Add a line; a faulty one invalidates the row, but its end is still found."""
        if isinstance(line, Fault):
            if line.text is None:
                remedy = either(line.remedy, "save the file as TSV")
                raise DataError(line.problem, place=line.place, remedy=remedy)
            self.fault = self.fault or line
            line = line.text
        self.length += len(line) + 1
        if self.length > self.max_line + 1:
            raise self.open_quote(f"not closed within {self.max_line:,} characters")
        if self.in_quotes:
            self.parts.append("\n")
        position = 0
        while position <= len(line):
            position = (
                self._read_quoted(line, position)
                if self.in_quotes
                else self._read_bare(line, position)
            )

    def result(self) -> Record | Fault:
        """The finished row."""
        return self.fault or row_record(self.place, self.cells)

    def open_quote(self, how: str) -> DataError:
        """The error of an unclosed quote, after which no row can be trusted."""
        cure = "close it, double it, or save the file as TSV, where quotes are plain text"
        return DataError(f"a quote in this row is {how}", place=self.place, remedy=cure)

    def _read_bare(self, line: str, start: int) -> int:
        """Read a cell from its start, or what follows a closing quote; the next position."""
        if not self.parts and line.startswith('"', start):
            self.in_quotes = True
            self.parts.append("")
            return start + 1
        end = line.find(self.separator, start)
        end = len(line) if end < 0 else end
        if self.parts and end > start:
            problem = "text follows a closing quote"
            self.fault = self.fault or Fault(
                Reason.QUOTE, self.place, problem, "double the quotes inside a text"
            )
        self.parts.append(line[start:end])
        self.cells.append("".join(self.parts))
        self.parts = []
        return end + 1

    def _read_quoted(self, line: str, start: int) -> int:
        """Read up to the closing quote, a doubled quote or the line's end; the next position."""
        end = line.find('"', start)
        if end < 0:
            self.parts.append(line[start:])
            return len(line) + 1
        self.parts.append(line[start:end])
        if line.startswith('"', end + 1):
            self.parts.append('"')
            return end + 2
        self.in_quotes = False
        return end + 1
