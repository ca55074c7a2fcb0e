"""Rows of (source, target) from files or from memory, in a stream; the one way data comes in.

Strict by default: the first unusable row is an error. With `data.skip_bad` such rows are counted in
the report and left out, while faults of a whole file stay errors, so no row is ever misaligned.
A data set is told from another by its files' names, sizes, columns and hashes.
"""

import dataclasses
import math
import reprlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from seqloom.config import DataConfig
from seqloom.data.memory_rows import Data, describe_rows, in_memory, memory_records, row_bytes
from seqloom.data.table_windows import check_windows, table_records, window_records
from seqloom.errors import DataError, RunError
from seqloom.fields import join_turns, names_array
from seqloom.readers.dialogs import history_record, turn_rows
from seqloom.readers.lines import (
    Fault,
    FileLocation,
    Reason,
    check_file,
    count_lines,
    expand_sound,
    first_fault,
    map_lines,
    map_sound,
    text_lines,
)
from seqloom.readers.reader import ColumnSelection, FileIdentity, FileReader, Record, reader_of

__all__ = [
    "DataIdentity",
    "DropCount",
    "Report",
    "Row",
    "compare_data",
    "data_files",
    "describe_data",
    "identify_data",
    "is_stream",
    "is_tagged",
    "join_columns",
    "names_file",
    "read_lines",
    "read_rows",
    "source_record",
]


SHOWN = 5  # labels named in a line


@dataclass(frozen=True)
class DropCount:
    """How many rows one reason cost, and where the first of them is."""

    count: int
    first: FileLocation


@dataclass
class Report:
    """The tally of one pass, filled in while rows are read."""

    kept: int = 0
    dropped: dict[Reason, DropCount] = field(default_factory=dict)
    unseen: Counter[str] = field(default_factory=Counter)
    """Labels or tags of held-out rows that training did not have, and how often each comes."""
    unseen_name: str = "label"
    fitted: Counter[str] = field(default_factory=Counter)
    """Rows that were too long and are used all the same, by what was done: truncated or split."""

    @property
    def total_dropped(self) -> int:
        """Rows left out, for whatever reason."""
        return sum(each.count for each in self.dropped.values())

    @property
    def has_changes(self) -> bool:
        """Whether any row was left out, truncated or split."""
        return self.total_dropped + self.fitted.total() > 0

    @property
    def defect_count(self) -> int:
        """Rows left out that should be mended."""
        return sum(each.count for reason, each in self.dropped.items() if not reason.is_benign)

    def drop(self, reason: Reason, place: FileLocation) -> None:
        """Count one row that is left out."""
        before = self.dropped.get(reason)
        self.dropped[reason] = (
            DropCount(before.count + 1, before.first) if before else DropCount(1, place)
        )

    def lines(self) -> list[str]:
        """The tally in words, one reason a line, the costliest first."""
        return [
            f"rows kept: {self.kept:,}",
            f"rows dropped: {self.total_dropped:,}",
            *(f"  {reason}" for reason in self._reasons()),
            *(f"rows {done}: {count:,}" for done, count in self.fitted.items() if count),
        ]

    def count_line(self) -> str:
        """The rows that count and, where there are any, those that do not and why, in one line."""
        left_out = "; ".join(self._reasons())
        rows = f"{self.kept:,} row{'s' * (self.kept != 1)}"
        return f"{rows}; {self.total_dropped:,} not counted: {left_out}" if left_out else rows

    def unseen_line(self) -> str:
        """The labels that training did not have, in a sentence; empty where there are none."""
        if not self.unseen:
            return ""
        kinds, total = len(self.unseen), self.unseen.total()
        named = ", ".join(f"{name} ({count:,})" for name, count in self.unseen.most_common(SHOWN))
        return (
            f"{kinds:,} {self.unseen_name}{'s' * (kinds > 1)} of the held-out rows "
            f"{'are' if kinds > 1 else 'is'} not in the training data, so {total:,} "
            f"{'cases count' if total > 1 else 'case counts'} as wrong: {named}"
            + ", ..."
            * (kinds > SHOWN)
        )

    def _reasons(self) -> list[str]:
        """How many rows each reason cost, the costliest first."""
        ranked = sorted(self.dropped.items(), key=lambda item: (-item[1].count, item[0]))
        return [f"{each.count:,} × {reason}, first at {each.first}" for reason, each in ranked]


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
    for row in (_stream if config.lines == "stream" else _rows)(data, config):
        if isinstance(row, Row):
            report.kept += 1
            yield row
        elif config.skip_bad or row.reason.is_benign:
            report.drop(row.reason, row.place)
        else:
            raise row.error()
    if report.kept == before:
        raise DataError(_why_nothing(report), place=describe_data(data))


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


def data_files(data: Data) -> tuple[Path, ...]:
    """The files that hold the data: none, one table, or two sides; a missing one is an error."""
    if not isinstance(data, str | Path):
        return ()
    name = str(data)
    if "," not in name or Path(name).exists():
        files: tuple[Path, ...] = (Path(name),)
    else:
        files = _sides(name)
    for path in files:
        check_file(path)
    return files


def describe_data(data: Data) -> str:
    """What errors and reports call the data."""
    return str(data) if isinstance(data, str | Path) else describe_rows(data)


def _sides(name: str) -> tuple[Path, ...]:
    """The two files that a name with a comma means: where both exist, else at the first comma."""
    commas = [index for index, letter in enumerate(name) if letter == ","]
    splits = [(Path(name[:index].strip()), Path(name[index + 1 :].strip())) for index in commas]
    return next((both for both in splits if all(side.exists() for side in both)), splits[0])


def _rows(data: Data, config: DataConfig) -> Iterator[Row | Fault]:
    """Each record as a row, or what is wrong with it."""
    records = _records(data, config)
    if config.turns:
        records = expand_sound(records, partial(turn_rows, config=config))
    elif config.columns:
        records = map_sound(records, partial(join_columns, config=config))
    return map_sound(records, partial(_check_record, config=config))


def _records(data: Data, config: DataConfig) -> Iterator[Record | Fault]:
    files = data_files(data)
    check_windows(config)
    if not isinstance(data, str | Path):
        records = memory_records(data, ColumnSelection.of(config))
        return window_records(records, config) if config.window else records
    if len(files) == 2:
        return _parallel(files[0], files[1], config)
    return table_records(files[0], config)


def _reader(data: Data) -> FileReader | None:
    """What reads the data, if it is in a file."""
    return reader_of(Path(data)) if isinstance(data, str | Path) else None


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
    (path,) = data_files(data)
    lines = text_lines(path, max_line=config.max_line)
    return map_lines(lines, str(path), lambda line, place: Row("", f"{line}{LINE_END}", place))


def _parallel(first: Path, second: Path, config: DataConfig) -> Iterator[Record | Fault]:
    """Line n of one file with line n of the other, counted to the end before the first is given."""
    counts = count_lines(first), count_lines(second)
    if counts[0] != counts[1]:
        longer, shorter = (first, second) if counts[0] > counts[1] else (second, first)
        more, fewer = max(counts), min(counts)
        raise DataError(
            f"has {more:,} line{'s' * (more != 1)} where {shorter} has {fewer:,}",
            place=longer,
            remedy="find the first line that does not match and mend it",
        )
    wanted = ColumnSelection.of(config)
    names = [str(first), str(second)]
    if config.weight:
        cure = "put all three columns into one TSV file"
        raise DataError(f"{first},{second}: two text files have no column for weights", remedy=cure)
    order = wanted.find_all(names, f"{first},{second}")
    sides = (text_lines(path, max_line=config.max_line) for path in (first, second))
    for number, texts in enumerate(zip_longest(*sides), 1):
        if None in texts:
            raise DataError(
                f"it or {second} changed while being read", place=first, remedy="start again"
            )
        record = Record(
            FileLocation(names[order[0]], number), [str(texts[index]) for index in order]
        )
        yield first_fault(texts) or record


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


@dataclass(frozen=True)
class DataIdentity:
    """The files that a data set is made of."""

    files: tuple[FileIdentity, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "DataIdentity":
        """The inverse of `as_dict`; RunError where they are something else."""
        try:
            return cls(tuple(FileIdentity(**each) for each in values["files"]))
        except (KeyError, TypeError):
            raise RunError(
                "progress.json does not say what data it had", remedy="use another step"
            ) from None


def identify_data(data: Data) -> DataIdentity:
    """What a data set is now; its files are read once."""
    if isinstance(data, str | Path):
        files = data_files(data)
        return DataIdentity(tuple(reader_of(path).identify(path) for path in files))
    digest = sha256()
    for part in row_bytes(data):
        digest.update(part)
    file = FileIdentity(describe_data(data), len(data), sha256=digest.hexdigest())
    return DataIdentity((file,))


def compare_data(data: Data, before: DataIdentity) -> str:
    """Which file of a data set is not what it was, and how, in words; empty if none is."""
    now = identify_data(data)
    if len(now.files) != len(before.files):
        return f"there are {len(now.files)} files where there were {len(before.files)}"
    pairs = zip(now.files, before.files, strict=True)
    changes = [(file, list(file.differences(old))) for file, old in pairs]
    several = len(now.files) > 1
    told = [f"{file.name} " * several + _join(found) for file, found in changes if found]
    return "; ".join(told)


def _join(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
