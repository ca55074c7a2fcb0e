"""Rows of (source, target) from files or from memory, in a stream; the one way data comes in.

Strict by default: the first unusable row is an error. With `data.skip_bad` such rows are counted in
the report and left out, while faults of a whole file stay errors, so no row is ever misaligned.
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
    "part_records",
    "read_lines",
    "read_rows",
    "row_items",
    "source_record",
]


def names_file(cell: str, config: DataConfig) -> bool:
    """Whether a source cell is the name of a file."""
    return config.files or (config.arrays and names_array(cell))


def join_columns(record: Record, config: DataConfig) -> Record:
    """A record of several source columns with one cell in their place; empty where all are."""
    count = len(config.source_columns)
    sources = record.cells[:count]
    cell = join_turns(sources) if any(map(str.strip, sources)) else ""
    return Record(record.place, [cell, *record.cells[count:]])


def source_record(record: Record, config: DataConfig) -> Record | Fault:
    """A record of the source columns alone, as one cell."""
    if config.turns:
        return history_record(record)
    return join_columns(record, config) if config.columns else record


LINE_END = "\n"


class Row(NamedTuple):
    """One usable example and where it was read."""

    source: str  # empty where there is no such column
    target: str
    place: FileLocation
    weight: float = 1.0


def read_rows(data: Data, config: DataConfig, report: Report) -> Iterator[Row]:
    """Every usable row in order; the report is filled in as they are read (RELIABILITY B1)."""
    before = report.kept
    yield from count_rows(row_items(data, config), config, report)
    if report.kept == before:
        raise no_rows(data, report)


def row_items(data: Data, config: DataConfig) -> Iterator[Row | Fault]:
    """Each row in order, or what is wrong with it."""
    return _stream(data, config) if config.lines == "stream" else _rows(data, config)


def count_rows(rows: Iterable[Row | Fault], config: DataConfig, report: Report) -> Iterator[Row]:
    """The usable rows, counted; others are counted too, or are an error, as the options say."""
    for row in rows:
        if isinstance(row, Row):
            report.kept += 1
            yield row
        elif config.skip_bad or row.reason.is_benign:
            report.drop(row.reason, row.place)
        else:
            raise row.error()


def no_rows(data: Data, report: Report) -> DataError:
    """What is wrong with data of which no row can be used."""
    return DataError(_why_nothing(report), place=describe_data(data))


def read_lines(path: Path | None, *, max_line: int, report: Report | None = None) -> Iterator[str]:
    """One item for each line of a file, or of standard input for None.

    An unusable line is an error; given a report, it is counted there and comes out as an empty
    line, so that the lines written still match the lines read.
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
    """What errors and reports call the data."""
    return str(data) if isinstance(data, str | Path) else describe_rows(data)


def _rows(data: Data, config: DataConfig) -> Iterator[Row | Fault]:
    """Each record as a row, or what is wrong with it."""
    return check_records(_records(data, config), config)


def check_records(records: Iterator[Record | Fault], config: DataConfig) -> Iterator[Row | Fault]:
    """Each record as a row, or what is wrong with it."""
    if config.turns:
        records = expand_sound(records, partial(turn_rows, config=config))
    elif config.columns:
        records = map_sound(records, partial(join_columns, config=config))
    return map_sound(records, partial(_check_record, config=config))


def _records(data: Data, config: DataConfig) -> Iterator[Record | Fault]:
    parts = data_parts(data)
    check_windows(config)
    if not isinstance(data, str | Path):
        records = memory_records(data, ColumnSelection.of(config))
        return window_records(records, config) if config.window else records
    return chain.from_iterable(part_records(part, config) for part in parts)


def part_records(part: DataPart, config: DataConfig) -> Iterator[Record | Fault]:
    """The records of one table, or of two files side by side."""
    if len(part.files) == 2:
        return _parallel(*part.files, config)
    return table_records(part.files[0], config)


def _reader(data: Data) -> FileReader | None:
    """What reads the data, if it is in a file."""
    if not isinstance(data, str | Path):
        return None
    path = Path(data)
    return reader_of(path if path.is_file() or not path.exists() else data_files(data)[0])


def is_tagged(data: Data) -> bool:
    """Whether the data is a file with a word a line, each of which has its tags."""
    reader = _reader(data)
    return reader is not None and reader.has_tags


def is_stream(data: Data) -> bool:
    """Whether the data is a plain text file, whose lines are one stream unless told otherwise."""
    reader = _reader(data)
    return reader is not None and reader.is_plain_text and "," not in str(data)


def _stream(data: Data, config: DataConfig) -> Iterator[Row | Fault]:
    """Each line of a text, be it blank, or row of a table, with the end of a line after it."""
    if not is_stream(data):
        rows = _rows(data, config)
        return map_sound(rows, lambda row: row._replace(target=f"{row.target}{LINE_END}"))
    return chain.from_iterable(_stream_lines(path, config) for path in data_files(data))


def _stream_lines(path: Path, config: DataConfig) -> Iterator[Row | Fault]:
    lines = text_lines(path, max_line=config.max_line)
    return map_lines(lines, str(path), lambda line, place: Row("", f"{line}{LINE_END}", place))


def _parallel(first: Path, second: Path, config: DataConfig) -> Iterator[Record | Fault]:
    """Line n of one file with line n of the other, counted to the end before the first is given."""
    pairs = LinePairs.open(first, second, config)
    one, other = (text_lines(path, max_line=config.max_line) for path in (first, second))
    return pairs.records(one, other)


def _check_record(record: Record, config: DataConfig) -> Row | Fault:
    """A row whose texts are there, are Unicode and are not too long, and its weight."""
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
    """Whether a file lies in a folder, wherever links lead."""
    try:
        return Path(name).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def _with_weight(row: Row, text: str) -> Row | Fault:
    """The row, counting as much as the text says, which must be a number of 0 or more."""
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
    """Whether the text is Unicode; JSON escapes and Python strings can hold half a character."""
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
