"""Stream rows of (source, target) from files or from memory.

Strict by default: the first unusable row is an error. With `data.skip_bad` such rows are counted in
the report and dropped; faults of a whole file remain errors, so rows are never misaligned.
"""

import math
import reprlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from seqloom.config import DataConfig
from seqloom.data.memory_rows import Data, describe_rows, in_memory, memory_records
from seqloom.data.parts import DataPart, data_files, data_parts
from seqloom.data.table_windows import check_windows, table_records, window_records
from seqloom.errors import DataError
from seqloom.fields import join_turns, names_array
from seqloom.readers.dialogs import history_record, turn_rows
from seqloom.readers.line_pairs import LinePairs
from seqloom.readers.lines import (
    Fault,
    FileLocation,
    Reason,
    expand_sound,
    map_lines,
    map_sound,
    text_lines,
)
from seqloom.readers.reader import ColumnSelection, FileReader, Record, reader_of
from seqloom.readers.report import Report

__all__ = [
    "Row",
    "check_records",
    "count_rows",
    "describe_data",
    "is_stream",
    "is_tagged",
    "join_columns",
    "names_file",
    "no_rows",
    "part_items",
    "read_lines",
    "read_rows",
    "row_items",
    "source_record",
]


def names_file(cell: str, config: DataConfig) -> bool:
    """Whether a source cell is the name of a file."""
    return config.files or (config.arrays and names_array(cell))


def join_columns(record: Record, config: DataConfig) -> Record:
    """Join the source columns of a record into one cell; empty if all are."""
    count = len(config.source_columns)
    sources = record.cells[:count]
    cell = join_turns(sources) if any(map(str.strip, sources)) else ""
    return Record(record.place, [cell, *record.cells[count:]])


def source_record(record: Record, config: DataConfig) -> Record | Fault:
    """The source columns of a record as one cell."""
    if config.turns:
        return history_record(record)
    return join_columns(record, config) if config.columns else record


LINE_END = "\n"


class Row(NamedTuple):
    """A usable example and its location."""

    source: str  # empty without a source column
    target: str
    place: FileLocation
    weight: float = 1.0


def read_rows(data: Data, config: DataConfig, report: Report) -> Iterator[Row]:
    """Yield the usable rows in order, filling in the report (RELIABILITY B1)."""
    before = report.kept
    yield from count_rows(row_items(data, config), config, report)
    if report.kept == before:
        raise no_rows(data, report)


def row_items(data: Data, config: DataConfig) -> Iterator[Row | Fault]:
    """Yield each row in order, or its fault."""
    check_windows(config)
    if isinstance(data, str | Path):
        return chain.from_iterable(part_items(part, config) for part in data_parts(data))
    records = memory_records(data, ColumnSelection.of(config))
    records = window_records(records, config) if config.window else records
    rows = check_records(records, config)
    return _closed_lines(rows) if config.lines == "stream" else rows


def part_items(part: DataPart, config: DataConfig) -> Iterator[Row | Fault]:
    """Yield the rows or faults of one table, of two parallel files, or of one text."""
    if config.lines == "stream" and is_stream(part.files[0]) and len(part.files) == 1:
        return _stream_lines(part.files[0], config)
    rows = check_records(_part_records(part, config), config)
    return _closed_lines(rows) if config.lines == "stream" else rows


def count_rows(rows: Iterable[Row | Fault], config: DataConfig, report: Report) -> Iterator[Row]:
    """Yield and count usable rows; count others or raise an error, by the options."""
    for row in rows:
        if isinstance(row, Row):
            report.kept += 1
            yield row
        elif config.skip_bad or row.reason.is_benign:
            report.drop(row.reason, row.place)
        else:
            raise row.error()


def no_rows(data: Data, report: Report) -> DataError:
    """The error for data without a usable row."""
    return DataError(_why_nothing(report), place=describe_data(data))


def read_lines(path: Path | None, *, max_line: int, report: Report | None = None) -> Iterator[str]:
    """Yield an item for each line of a file, or of standard input for None.

    An unusable line is an error; with a report, it is counted there and becomes an empty line, so
    that output lines match input lines.
    """
    for line in text_lines(path, max_line=max_line):
        if isinstance(line, str):
            if report is not None:
                report.kept += 1
            yield line
        elif report is None:
            raise line.error()
        else:
            report.drop(line.reason, line.place)
            yield ""


def describe_data(data: Data) -> str:
    """The name of the data in errors and reports."""
    return str(data) if isinstance(data, str | Path) else describe_rows(data)


def check_records(records: Iterator[Record | Fault], config: DataConfig) -> Iterator[Row | Fault]:
    """Validate records as rows."""
    if config.turns:
        records = expand_sound(records, partial(turn_rows, config=config))
    elif config.columns:
        records = map_sound(records, partial(join_columns, config=config))
    return map_sound(records, partial(_check_record, config=config))


def _part_records(part: DataPart, config: DataConfig) -> Iterator[Record | Fault]:
    """The records of one table, or of two parallel files."""
    if len(part.files) == 2:
        return _parallel(*part.files, config)
    return table_records(part.files[0], config)


def _reader(data: Data) -> FileReader | None:
    """The reader of a file; None for rows in memory."""
    if not isinstance(data, str | Path):
        return None
    path = Path(data)
    return reader_of(path if path.is_file() or not path.exists() else data_files(data)[0])


def is_tagged(data: Data) -> bool:
    """Whether the data is a file with one tagged word per line."""
    reader = _reader(data)
    return reader is not None and reader.has_tags


def is_stream(data: Data) -> bool:
    """Whether the data is a plain text file, which is a stream unless configured otherwise."""
    reader = _reader(data)
    return reader is not None and reader.is_plain_text and "," not in str(data)


def _closed_lines(rows: Iterator[Row | Fault]) -> Iterator[Row | Fault]:
    """Rows of a table as lines of a text, each with a line ending."""
    return map_sound(rows, lambda row: row._replace(target=f"{row.target}{LINE_END}"))


def _stream_lines(path: Path, config: DataConfig) -> Iterator[Row | Fault]:
    """Each line of a text, blank or not, with its ending."""
    lines = text_lines(path, max_line=config.max_line)
    return map_lines(lines, str(path), lambda line, place: Row("", f"{line}{LINE_END}", place))


def _parallel(first: Path, second: Path, config: DataConfig) -> Iterator[Record | Fault]:
    """Pair the lines of two files, after checking that their numbers are equal."""
    pairs = LinePairs.open(first, second, config)
    one, other = (text_lines(path, max_line=config.max_line) for path in (first, second))
    return pairs.records(one, other)


def _check_record(record: Record, config: DataConfig) -> Row | Fault:
    """Validate a record's texts (present, Unicode, not too long) and its weight."""
    place, cells = record
    texts = cells[: len(cells) - bool(config.weight)]
    for text, side in zip(texts, ("source", "target")[-len(texts) :], strict=True):
        if not text or text.isspace():
            reason = Reason.EMPTY_SOURCE if side == "source" else Reason.EMPTY_TARGET
            return Fault(reason, place, f"the {side} is empty", "fill it in")
        if "\0" in text:
            return Fault(Reason.NUL, place, f"the {side} holds a NUL character", "remove it")
        if len(text) > config.max_line:
            most = f"{config.max_line:,} characters"
            problem = f"the {side} is longer than {most}"
            return Fault(Reason.LONG_LINE, place, problem, "raise data.max_line")
        if not _encodable(text):
            problem = f"the {side} holds half of a surrogate pair"
            return Fault(Reason.ENCODING, place, problem, "remove it")
    source = texts[0] if len(texts) > 1 else ""
    if names_file(source, config) and not in_memory(place.file):
        folder = Path(place.file).parent
        source = str(folder / source.strip())
        if config.inside and not _is_inside(source, folder):
            problem = f"source: {source} lies outside of the folder of {place.file}"
            return Fault(Reason.OUTSIDE, place, problem, "copy it there")
    row = Row(source, texts[-1], place)
    return _with_weight(row, cells[-1]) if config.weight else row


def _is_inside(name: str, folder: Path) -> bool:
    """Whether a file lies in a folder, after resolving links."""
    try:
        return Path(name).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def _with_weight(row: Row, text: str) -> Row | Fault:
    """Set a row's weight, which must be a finite number of 0 or more."""
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if math.isfinite(weight) and weight >= 0:
        return row._replace(weight=weight)
    wrong = f"{reprlib.repr(text.strip())} is no number of 0 or more"
    problem = f"the weight {wrong if text.strip() else 'is missing'}"
    return Fault(Reason.WEIGHT, row.place, problem, "write a number such as 0.5")


def _encodable(text: str) -> bool:
    """Whether the text is valid Unicode; JSON escapes and Python strings can hold lone
    surrogates.
    """
    try:
        return text.isascii() or bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def _why_nothing(report: Report) -> str:
    if not report.dropped:
        return "is empty; it should hold one pair a line"
    reason, dropped = next(iter(report.dropped.items()))
    first = f"the first because of {reason} at {dropped.first}"
    recode = "save it as UTF-8, for example with iconv -f LATIN1 -t UTF-8"
    cure = recode if reason is Reason.ENCODING else "mend it"
    return f"none of its {report.total_dropped:,} rows can be used, {first}; {cure}"
