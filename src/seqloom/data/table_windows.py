"""Windows of a table over time, each a sequence of vectors with a target (S1.1).

A row of the table is a step. A window never spans a gap in time or an unusable row; the remainder
of a span is a shorter window, so that every row is in one.
"""

import json
import math
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from seqloom.config import DataConfig
from seqloom.data.time_steps import HEAD, Clock, looks_like_time
from seqloom.errors import ConfigError, DataError
from seqloom.readers import reader_of
from seqloom.readers.lines import Fault, FileLocation, Reason, sound_items
from seqloom.readers.reader import Record
from seqloom.remedies import Remedy, Setting

__all__ = ["check_windows", "shared_windows", "table_records", "window_records"]

NO_BREAK = "\u00a0"


def table_records(path: Path, config: DataConfig) -> Iterator[Record | Fault]:
    """The records of a file, or one per window if windows are configured."""
    if not config.window:
        return reader_of(path).records(path, config)
    timed = _with_time_column(path, config)
    return window_records(reader_of(path).records(path, timed), timed)


def check_windows(config: DataConfig) -> None:
    """Raise ConfigError if options refer to windows and none are configured."""
    if config.window or not config.arrays:
        return
    if "," in config.source:
        raise ConfigError(
            f"the source {config.source!r} is several columns, whose rows are steps of a window",
            remedy=Remedy(
                "say with {} how many rows are one, or name one column of whole sequences",
                Setting("data.window", 100),
            ),
        )
    if config.stride:
        raise ConfigError(
            "there are no windows for it to part",
            place=Setting("data.stride", config.stride),
            remedy=Remedy("set {} too", Setting("data.window", 100)),
        )


def _with_time_column(path: Path, config: DataConfig) -> DataConfig:
    """The options with the detected time column's position, if the table has one."""
    if config.time:
        return config
    rows = [record.cells for record in islice(sound_items(reader_of(path).preview(path)), HEAD + 1)]
    columns = zip(*(row for row in rows if len(row) == len(rows[0])), strict=True)
    read = {*config.source_columns, config.target}
    for number, (name, *cells) in enumerate(columns, 1):
        if looks_like_time(name, cells) and read.isdisjoint((name.strip(), str(number))):
            return config.model_copy(update={"time": str(number)})
    return config


def window_records(
    records: Iterable[Record | Fault], config: DataConfig
) -> Iterator[Record | Fault]:
    """A record per window: its steps as one cell, then the target and weight."""
    steps = [_parse(each, config) if isinstance(each, Record) else each for each in records]
    follows = _follows([each for each in steps if isinstance(each, _Step)], config)
    stretch: list[_Step] = []
    for step in steps:
        if isinstance(step, Fault) or not next(follows):
            yield from _windows(stretch, config)
            stretch = []
        if isinstance(step, Fault):
            yield step
        else:
            stretch.append(step)
    yield from _windows(stretch, config)


def shared_windows(config: DataConfig) -> int:
    """The number of preceding windows that share rows with a window."""
    return math.ceil(config.window / _stride(config)) - 1 if config.window else 0


@dataclass(frozen=True)
class _Step:
    """One row of the table: its time as written, its numbers, and the cells that follow."""

    place: FileLocation
    time: str
    numbers: tuple[float, ...]
    rest: list[str]


def _stride(config: DataConfig) -> int:
    return config.stride or config.window


def _parse(record: Record, config: DataConfig) -> _Step | Fault:
    """Parse a row; a fault for a cell that is not a number, or a step without a tag."""
    place, cells = record
    names, timed = config.source_columns, len(config.time_columns)
    end = timed + len(names)
    numbers = tuple(map(_number, cells[timed:end]))
    for name, cell, number in zip(names, cells[timed:end], numbers, strict=True):
        if not math.isfinite(number):
            wrong = f"is {reprlib.repr(cell.strip())}, not a finite number"
            problem = f"column {name!r} {wrong if cell.strip() else 'is empty'}"
            return Fault(Reason.VALUE, place, problem, "fill it in")
    if config.aligned and config.target and not cells[end].strip():
        return Fault(Reason.ALIGNMENT, place, "the step has no tag", "give each row one")
    return _Step(place, cells[0] if timed else "", numbers, cells[end:])


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _follows(steps: Sequence[_Step], config: DataConfig) -> Iterator[bool]:
    """Whether each step is one after the previous; always true without times."""
    if not config.time_columns or not steps:
        return iter([True] * len(steps))
    clock = Clock.of([step.time for step in steps])
    times = np.array([clock.read(step.time) if clock else math.nan for step in steps])
    unread = np.flatnonzero(np.isnan(times))
    if clock is None or len(unread):
        wrong = steps[int(unread[0])]
        raise DataError(
            f"the time {reprlib.repr(wrong.time.strip())} cannot be read",
            place=wrong.place,
            remedy="write all times alike, or set data.time to none to count the rows",
        )
    return iter(clock.follows(times).tolist())


def _windows(stretch: list[_Step], config: DataConfig) -> Iterator[Record]:
    """The windows of consecutive rows."""
    for start in range(0, len(stretch), _stride(config)):
        window = stretch[start : start + config.window]
        cell = json.dumps([step.numbers for step in window])
        yield Record(window[0].place, [cell, *_rest(window, config)])
        if start + config.window >= len(stretch):
            return


def _rest(window: list[_Step], config: DataConfig) -> list[str]:
    """The target of a window (all tags, or the last target present) and the weight of its end."""
    columns = list(zip(*(step.rest for step in window), strict=True))
    if not config.target or not columns:
        return []
    target, *weight = columns
    if config.aligned:
        said = " ".join(NO_BREAK.join(cell.split()) for cell in target)
    else:
        said = next((cell for cell in reversed(target) if cell.strip()), "")
    return [said, *(cells[-1] for cells in weight)]
