"""Inputs of a finished model, read by the columns and in the format of its training data.

A table (TSV, CSV, JSONL, Parquet and so on, by the file's ending) gives the source columns of each
row. Any other file, and standard input, gives a line each; tabs in a line part its columns.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.data.readers import READERS, Record, reader_of
from seqloom.data.readers.dialogs import history_record
from seqloom.data.readers.lines import file_name, text_lines
from seqloom.data.readers.reader import file_ending
from seqloom.data.report import Fault, FileLocation, Reason, Report, map_sound

__all__ = ["InputFile"]

TAB = "\t"


@dataclass
class InputFile:
    """A file of inputs, or standard input where there is no path.

    An unreadable row is an error; given a report, it is counted there and comes out empty, so that
    outputs still match inputs. `notice` is told once which columns are read.
    """

    path: Path | None
    config: DataConfig
    report: Report | None = None
    notice: Callable[[str], None] = lambda _: None
    lines_before: int = 0  # of a header, once the first row is read

    def cells(self) -> Iterator[str]:
        """The source cell of each row, empty where the row is blank."""
        records = self._table() if self._is_table else self._lines()
        for number, record in enumerate(records):
            if number == 0:
                self.lines_before = record.place.line - 1
            yield self._cell(record)

    @property
    def _is_table(self) -> bool:
        if self.path is None or not self.config.source or file_ending(self.path) not in READERS:
            return False
        return not reader_of(self.path).is_plain_text

    @property
    def _columns(self) -> list[str]:
        """The source's columns, as the run names them."""
        named = self.config.source.split(",") if self.config.turns else [self.config.source]
        return [column.strip() for column in named]

    def _table(self) -> Iterator[Record | Fault]:
        """The source columns of each row of a table; its target need not be there."""
        alone = self.config.model_copy(update={"target": "", "weight": ""})
        path = self.path or Path()
        self.notice(f"{path}: reading column {self.config.source} as the source")
        records = reader_of(path).records(path, alone)
        if self.config.turns:
            records = map_sound(records, history_record)
        return map_sound(records, self._in_folder) if self.config.files else records

    def _in_folder(self, record: Record) -> Record:
        """A file that is named in a table lies beside it, as in training."""
        folder = Path(record.place.file).parent
        return Record(record.place, [str(folder / cell.strip()) for cell in record.cells])

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
                yield Record(place, [line])

    def _has_columns(self, line: str) -> bool:
        """Whether a line is a row of several columns rather than a bare input."""
        return TAB in line and bool(self.config.source) and bool(line.strip())

    def _split(self, line: str, place: FileLocation) -> Record | Fault:
        """The source columns of a line: by their positions, or all of them in order."""
        cells, columns = line.split(TAB), self._columns
        positions = [int(column) for column in columns if column.isdecimal()]
        if len(positions) == len(columns) and max(positions) <= len(cells):
            chosen = [cells[position - 1] for position in positions]
        elif len(cells) == len(columns):
            chosen = cells
        else:
            wanted = f"column{'s' * (len(columns) > 1)} {self.config.source}"
            problem = f"has {len(cells)} columns, and the run reads {wanted}"
            return Fault(
                Reason.COLUMNS,
                place,
                problem,
                "give a table with a header as .tsv, or the source columns alone",
            )
        record = Record(place, chosen)
        return history_record(record) if self.config.turns else record

    def _cell(self, record: Record | Fault) -> str:
        if isinstance(record, Record):
            if self.report is not None:
                self.report.kept += 1
            return record.cells[0]
        if record.reason is Reason.BLANK:
            return ""
        if self.report is None:
            raise record.error()
        self.report.drop(record.reason, record.place)
        return ""
