"""Inputs for prediction, read by the columns and in the format of the training data.

A table (TSV, CSV, JSONL, Parquet and so on, by file extension) gives the source columns of each
row, or of a window of rows. Any other file, and standard input, gives one input per line; tabs
separate its columns.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.data.table import names_file, source_record
from seqloom.data.table_windows import table_records
from seqloom.errors import DataError
from seqloom.readers import READERS, Record, reader_of
from seqloom.readers.lines import (
    Fault,
    FileLocation,
    Reason,
    apply_sound,
    file_name,
    resolve,
    text_lines,
)
from seqloom.readers.reader import ColumnSelection, file_ending
from seqloom.readers.report import Report

__all__ = ["TAB", "InputFile", "positions"]

TAB = "\t"


@dataclass
class InputFile:
    """A file of inputs, or standard input if there is no path.

    An unreadable row is an error; with a report, it is counted there and becomes an empty input, so
    that outputs still match inputs. `notice` is called once with the columns read.
    """

    path: Path | None
    config: DataConfig
    report: Report | None = None
    notice: Callable[[str], None] = lambda _: None
    lines_before: int = 0  # lines of a header, once the first row is read

    def cells(self) -> Iterator[str]:
        """The source cell of each row; empty for a blank row."""
        return (cell for cell, _ in self.pairs(targets=False))

    def pairs(self, *, targets: bool = True) -> Iterator[tuple[str, str | None]]:
        """The source cell and the target of each row, if there is one and it is requested."""
        records = self._table(targets=targets) if self._is_table else self._lines()
        for number, record in enumerate(records):
            if number == 0:
                self.lines_before = record.place.line - 1
            yield self._pair(record)

    @property
    def _is_table(self) -> bool:
        if self.path is None or not self.config.source or file_ending(self.path) not in READERS:
            return False
        return not reader_of(self.path).is_plain_text

    def _table(self, *, targets: bool) -> Iterator[Record | Fault]:
        """The source columns of each row of a table, and the target's if present."""
        path = self.path or Path()
        self.notice(f"{path}: reading column {self.config.source} as the source")
        alone = self.config.model_copy(update={"target": "", "weight": ""})
        if self.config.target and self.config.target != self.config.source:
            wanted = self.config.model_copy(update={"weight": ""})
            if (targets or self._names_target) and self._has_target(path, wanted):
                header = "yes" if self._names_target else alone.header
                alone = wanted if targets else alone.model_copy(update={"header": header})
        return table_records(path, alone)

    @property
    def _names_target(self) -> bool:
        """Whether the target has a name, so that a table that has it has a header."""
        return not self.config.target.isdecimal()

    def _has_target(self, path: Path, wanted: DataConfig) -> bool:
        """Whether a table has the target's column."""
        try:
            next(table_records(path, wanted), None)
        except DataError:
            return False
        return True

    def _lines(self) -> Iterator[Record | Fault]:
        name, told = file_name(self.path), False
        lines = text_lines(self.path, max_line=self.config.max_line)
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str):
                yield line
                continue
            place = FileLocation(name, number)
            if self._has_columns(line):
                if not told:
                    told = True
                    self.notice(f"{place}: has tabs; reading column {self.config.source}")
                yield self._split(line, place)
            else:
                yield self._bare(line, place)

    def _has_columns(self, line: str) -> bool:
        """Whether a line is a row of several columns rather than a bare input."""
        whole = self.config.window > 0  # each line is a window
        return TAB in line and bool(self.config.source) and bool(line.strip()) and not whole

    def _bare(self, line: str, place: FileLocation) -> Record | Fault:
        """A line without tabs: an input where the source is one column, or a list of turns."""
        count = len(self.config.source_columns)
        if not self.config.columns or not line.strip():
            return Record(place, [line])
        problem = f"has 1 column, and the run reads columns {self.config.source}"
        return Fault(Reason.COLUMNS, place, problem, f"give {count} with tabs between them")

    def _split(self, line: str, place: FileLocation) -> Record | Fault:
        """The source columns of a line, by position or else all in order, then the target if it has
        a position.
        """
        cells = line.split(TAB)
        chosen = positions(self.config, len(cells))
        if chosen is None:
            wanted = f"column{'s' * (len(self.config.source_columns) > 1)} {self.config.source}"
            problem = f"has {len(cells)} columns, and the run reads {wanted}"
            return Fault(
                Reason.COLUMNS,
                place,
                problem,
                "give a table with a header as .tsv, or the source columns alone",
            )
        return Record(place, [cells[index] for index in chosen])

    def _pair(self, record: Record | Fault) -> tuple[str, str | None]:
        return resolve(apply_sound(record, self._join), self._take, self._refuse)

    def _take(self, record: Record) -> tuple[str, str | None]:
        """An input with its target."""
        if self.report is not None:
            self.report.kept += 1
        return record.cells[0], record.cells[1] if len(record.cells) > 1 else None

    def _refuse(self, fault: Fault) -> tuple[str, str | None]:
        """An empty input for an unusable one; blank lines are not faults."""
        if fault.reason is not Reason.BLANK:
            if self.report is None:
                raise fault.error()
            self.report.drop(fault.reason, fault.place)
        return "", None

    def _join(self, record: Record) -> Record | Fault:
        """Join the source columns into one cell, followed by the target if present."""
        count = 1 if self.config.window else len(self.config.source_columns)
        sources = source_record(Record(record.place, record.cells[:count]), self.config)
        return apply_sound(sources, lambda source: self._beside(source, record.cells[count:]))

    def _beside(self, source: Record, rest: list[str]) -> Record:
        """The source with the other cells; a relative file name is resolved beside the table."""
        place, (cell,) = source
        if names_file(cell, self.config) and self._is_table:
            cell = str(Path(place.file).parent / cell.strip())
        return Record(place, [cell, *rest])


def positions(config: DataConfig, width: int) -> tuple[int, ...] | None:
    """The positions of the source columns in an unnamed row of this width, and of the target if
    present; None if undetermined.
    """
    columns = config.source_columns
    if all(column.isdecimal() for column in columns):
        wanted = ColumnSelection.of(config.model_copy(update={"target": "", "weight": ""}))
        try:
            found = wanted.find_all([""] * width, "")
        except DataError:
            return None
        target = config.target
        beside = target.isdecimal() and 1 <= int(target) <= width and target not in columns
        beside = beside and len(found) < width
        return (*found, int(target) - 1) if beside else found
    return tuple(range(width)) if len(columns) == width else None
