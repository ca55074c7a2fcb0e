"""A time series: one row per step, an optional time column, and numeric columns.

Strict by default: the first cell that is not a number and the first gap in time are errors. With
`data.skip_bad` they are counted, and no window includes them.
"""

import math
import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig, WindowConfig
from seqloom.data.memory_rows import Data, text_records
from seqloom.data.parts import data_files
from seqloom.data.table import describe_data
from seqloom.data.time_steps import HEAD, Clock, is_time_header, looks_like_time
from seqloom.errors import DataError
from seqloom.fields import SeriesField, column_names
from seqloom.readers.delimited import csv_records, tsv_records
from seqloom.readers.excel import sheet_records
from seqloom.readers.lines import (
    Fault,
    FileLocation,
    Reason,
    dispatch,
    sound_items,
    split_faults,
    text_lines,
)
from seqloom.readers.reader import ColumnSelection, Record, file_ending
from seqloom.readers.report import Report
from seqloom.remedies import Remedy, Setting

__all__ = ["ALL", "NO_TIME", "SeriesColumns", "SeriesTable", "read_series"]

ALL = "all"
NO_TIME = "none"
ROW_NUMBER = "row"


class SeriesColumns(NamedTuple):
    """The columns of a series: forecast, otherwise observed, and known ahead."""

    targets: tuple[str, ...]
    others: tuple[str, ...]
    known: tuple[str, ...]

    @classmethod
    def of(cls, source: SeriesField, target: SeriesField) -> "SeriesColumns":
        """The columns of two fields."""
        names, targets = source.names, len(target.names)
        end = len(names) - source.items.known
        return cls(names[:targets], names[targets:end], names[end:])

    @property
    def all(self) -> tuple[str, ...]:
        """All columns without repetition, in this order."""
        return (*self.targets, *self.others, *self.known)

    @property
    def observation_width(self) -> int:
        """The number of columns not known ahead."""
        return len(self.targets) + len(self.others)


@dataclass(frozen=True)
class SeriesTable:
    """Rows in order of time; an unusable row is NaN throughout."""

    file: str
    columns: SeriesColumns
    clock: Clock
    time_name: str
    times: NDArray[np.float64]  # (N,)
    values: NDArray[np.float64]  # (N, C), in the order of `columns.all`
    follows: NDArray[np.bool_]  # (N,): whether each row is one step after the previous one
    lines: NDArray[np.int64]  # (N,)
    ahead: int = 0  # final rows with values in the known columns only

    def __len__(self) -> int:
        return len(self.times)

    def times_after(self, start: int, steps: int) -> tuple[str, ...]:
        """The times of `steps` steps from row `start` on, in the table's format; possibly beyond
        its end.
        """
        last = self.times[start - 1]
        return tuple(
            self.clock.write(last + number * self.clock.step) for number in range(1, steps + 1)
        )

    @property
    def usable(self) -> NDArray[np.bool_]:
        """A mask of complete rows."""
        return np.asarray(np.isfinite(self.values).all(axis=1))


def read_series(
    data: Data,
    config: DataConfig,
    columns: SeriesColumns | WindowConfig,
    report: Report,
    *,
    ahead: bool = False,
) -> SeriesTable:
    """Read a series, with the columns of a run or of the options.

    With `ahead`, final rows may lack the columns that are not known ahead.
    """
    records = _records(data, config)
    first, fault = next(split_faults(records), (None, None))
    if first is None:
        raise (
            fault.error()
            if fault
            else DataError("is empty", place=describe_data(data), remedy="add rows")
        )
    names, rows = _header(first, records, config)
    found = (
        columns
        if isinstance(columns, SeriesColumns)
        else _resolve_columns(names, rows, config, columns)
    )
    reading = _SeriesReader(names, _time(names, rows, config), found, config, report)
    dispatch(rows, reading.add, reading.add_fault)
    return reading.table(first.place.file, ahead=ahead)


def _records(data: Data, config: DataConfig) -> Iterator[Record | Fault]:
    """The records of a CSV or TSV file, or of rows in memory."""
    if not isinstance(data, str | Path):
        return text_records(data)
    (path, *more) = data_files(data)
    ending = file_ending(path)
    if not more and ending == "xlsx":
        return sheet_records(path)
    if more or ending not in ("csv", "tsv", "txt"):
        raise DataError(
            "a series is read from one CSV, TSV or XLSX file", place=data, remedy="save it as such"
        )
    lines = text_lines(path, max_line=config.max_line)
    if ending == "csv":
        return csv_records(lines, str(path), max_line=config.max_line)
    return tsv_records(lines, str(path))


def _header(
    first: Record, records: Iterator[Record | Fault], config: DataConfig
) -> tuple[list[str], list[Record | Fault]]:
    """The columns' names and the rows; positions are names where the first line is a row."""
    cells, rows = [cell.strip() for cell in first.cells], list(records)
    if config.header == "no" or (config.header == "auto" and _is_row(cells, rows)):
        return [str(number) for number in range(1, len(cells) + 1)], [first, *rows]
    if not rows:
        raise DataError(
            "holds a header and no rows", place=first.place.file, remedy="add rows below it"
        )
    return cells, rows


def _is_row(first: list[str], rows: list[Record | Fault]) -> bool:
    """Whether a first line is a row: it has numbers, and a time in the time column."""
    columns = zip(first, _head(first, rows), strict=True)
    return any(map(_is_number, first)) and not any(is_time_header(*column) for column in columns)


def _is_number(cell: str) -> bool:
    return math.isfinite(_number(cell))


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _time(names: list[str], rows: list[Record | Fault], config: DataConfig) -> int | None:
    """The time column: the named one, or one that is detected; None without one."""
    if config.time == NO_TIME:
        return None
    if config.time:
        return _find(config.time, names, rows[0].place.file)
    columns = zip(names, _head(names, rows), strict=True)
    return next((n for n, column in enumerate(columns) if looks_like_time(*column)), None)


def _head(names: list[str], rows: list[Record | Fault]) -> list[list[str]]:
    """The first cells of each column, from complete rows."""
    whole = (row.cells for row in sound_items(rows) if len(row.cells) == len(names))
    cells = list(islice(whole, HEAD))
    return [[row[number] for row in cells] for number in range(len(names))]


def _resolve_columns(
    names: list[str], rows: list[Record | Fault], config: DataConfig, source: WindowConfig
) -> SeriesColumns:
    """The columns selected by the options; forecast columns are always read too."""
    free = _default_columns(names, rows, config)
    known = _select_columns(source.known, names)
    targets = [
        name
        for name in (free if config.target == ALL else _select_columns(config.target, names))
        if name not in known
    ]
    others = free if config.source == ALL else _select_columns(config.source, names)
    if not targets:
        raise DataError(
            "no column is left to forecast",
            remedy=Remedy("name one with {}", Setting("target.kind", "series")),
        )
    return SeriesColumns(
        tuple(targets),
        tuple(name for name in others if name not in (*targets, *known)),
        tuple(known),
    )


def _default_columns(names: list[str], rows: list[Record | Fault], config: DataConfig) -> list[str]:
    """The columns that `all` selects: not the time column, nor other columns of dates."""
    if config.time == NO_TIME:
        columns = zip(names, _head(names, rows), strict=True)
        return [name for name, cells in columns if not looks_like_time("", cells)]
    time = _time(names, rows, config)
    return [name for number, name in enumerate(names) if number != time]


def _select_columns(given: str, names: Sequence[str]) -> list[str]:
    """Columns by name or position, each once."""
    wanted = column_names(given)
    return list(dict.fromkeys(names[_find(name, names)] for name in wanted))


def _find(column: str, names: Sequence[str], place: str = "the table") -> int:
    """The index of a column, by name or else by position.

    A name therefore always takes precedence over a position.
    """
    return ColumnSelection((column,), "auto").find(column, names, place, named=True)


@dataclass
class _SeriesReader:
    """Accumulates rows."""

    names: list[str]
    time: int | None
    columns: SeriesColumns
    config: DataConfig
    report: Report
    times: list[str] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)
    places: list[FileLocation] = field(default_factory=list)
    faults: dict[int, Fault] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._indices = [_find(name, self.names) for name in self.columns.all]

    def add(self, row: Record) -> None:
        """Add a row; its faults are kept until the end of the table is known."""
        if len(row.cells) != len(self.names):
            problem = f"expected {len(self.names)} columns, found {len(row.cells)}"
            self.add_fault(Fault(Reason.COLUMNS, row.place, problem, "mend the row"))
            return
        values = [_number(row.cells[index]) for index in self._indices]
        self._check_values(len(self.values), row, values)
        self._append(row.place, "" if self.time is None else row.cells[self.time], values)

    def add_fault(self, fault: Fault) -> None:
        """Add the fault of an unreadable row."""
        self._add_fault(len(self.values), fault)
        self._append(fault.place, "", [math.nan] * len(self._indices))

    def _append(self, place: FileLocation, time: str, values: list[float]) -> None:
        self.places.append(place)
        self.times.append(time)
        self.values.append(values)

    def table(self, file: str, *, ahead: bool) -> SeriesTable:
        """The table of all rows; the first fault is an error, unless faulty rows are skipped."""
        values = np.array(self.values, np.float64).reshape(-1, len(self._indices))
        values[~np.isfinite(values)] = np.nan
        rest = self._ahead(values) if ahead else 0
        clock, times = self._clock()
        follows = clock.follows(times)
        for number in np.flatnonzero(~follows):
            self._add_fault(int(number), self._step_fault(int(number), clock, times))
        lacking = {Reason.VALUE} if rest else set()  # rows ahead may lack the other columns
        faults = [
            self.faults[number]
            for number in sorted(self.faults)
            if number < len(values) - rest or self.faults[number].reason not in lacking
        ]
        for fault in faults:
            self._report(fault)
        self.report.kept += len(values) - len(faults)
        name = ROW_NUMBER if self.time is None else self.names[self.time]
        lines = np.array([place.line for place in self.places], np.int64)
        return SeriesTable(
            file, self.columns, clock, name, times, values, follows, lines, ahead=rest
        )

    def _check_values(self, number: int, row: Record, values: list[float]) -> None:
        for name, index, value in zip(self.columns.all, self._indices, values, strict=True):
            if not math.isfinite(value):
                cell = row.cells[index].strip()
                wrong = f"is {reprlib.repr(cell)}, not a finite number" if cell else "is empty"
                problem = f"column {name!r} {wrong}"
                self._add_fault(number, Fault(Reason.VALUE, row.place, problem, "fill it in"))
                return

    def _add_fault(self, number: int, fault: Fault) -> None:
        self.faults.setdefault(number, fault)

    def _report(self, fault: Fault) -> None:
        if not self.config.skip_bad:
            raise fault.error()
        self.report.drop(fault.reason, fault.place)

    def _ahead(self, values: NDArray[np.float64]) -> int:
        """The number of final rows with values in the known columns only."""
        observed = self.columns.observation_width
        empty = np.isnan(values[:, :observed]).all(axis=1)
        filled = np.isfinite(values[:, observed:]).all(axis=1)
        future = np.asarray(empty & filled)
        return len(future) if future.all() else int(np.argmin(future[::-1]))

    def _clock(self) -> tuple[Clock, NDArray[np.float64]]:
        """The clock, and the time of each row.

        A missing time is one step after the previous row's; rows before the first time are counted
        back.
        """
        written = [cell for cell in self.times if cell.strip()]
        nothing = not written and len(self.faults) == len(self.times)
        if self.time is None or nothing:
            return Clock.of_row_numbers(), np.arange(1.0, len(self.times) + 1)
        clock = Clock.of(written)
        if clock is None:
            shown = reprlib.repr(written[0].strip()) if written else "nothing"
            raise DataError(
                f"column {self.names[self.time]!r} begins with {shown}, which is no time",
                place=self.places[0],
                remedy="write times as 2026-03-31 12:00:00 or as numbers",
            )
        times = np.array([clock.read(cell) for cell in self.times])
        first = int(np.argmax(np.isfinite(times)))
        for number in np.flatnonzero(np.isnan(times)):
            if self.times[number].strip():
                self._add_fault(int(number), self._time_fault(int(number)))
            if number > first:
                times[number] = times[number - 1] + clock.step
        times[:first] = times[first] - clock.step * np.arange(first, 0, -1)
        return clock, times

    def _time_fault(self, number: int) -> Fault:
        name = self.names[self.time or 0]
        shown = reprlib.repr(self.times[number].strip())
        problem = f"column {name!r} is {shown}, which is not written as the first time is"
        return Fault(Reason.TIME, self.places[number], problem, "mend it")

    def _step_fault(self, number: int, clock: Clock, times: NDArray[np.float64]) -> Fault:
        name = self.names[self.time or 0]
        late = float(times[number] - times[number - 1])
        if late > 0:
            wrong = f"{clock.span(late)} after the row before, where a step is"
            cure = "fill in the rows between"
        else:
            wrong, cure = "no later than the row before, where a step is", "sort the rows by time"
        problem = (
            f"column {name!r}: {clock.write(times[number])} is {wrong} {clock.span(clock.step)}"
        )
        return Fault(Reason.TIME, self.places[number], problem, cure)
