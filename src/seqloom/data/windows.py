"""Windows over a series: which rows each reads and forecasts, and all of them as a corpus.

A corpus holds the table once; a row of it is a window, given by where it begins and ends, so that
windows which overlap cost nothing.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig
from seqloom.data.blocks.files import write_tables
from seqloom.data.corpus import Corpus
from seqloom.data.series_table import SeriesTable
from seqloom.errors import DataError
from seqloom.fields import SeriesField

__all__ = ["WindowShape", "Windows", "find_windows", "source_rows", "split_ranges", "window_corpus"]


class WindowShape(NamedTuple):
    """Steps that are read, and steps that are forecast."""

    window: int
    horizon: int


class Windows(NamedTuple):
    """The first row that each window forecasts, ascending."""

    starts: NDArray[np.int64]
    shape: WindowShape


def split_ranges(table: SeriesTable, config: DataConfig) -> tuple[range, range, range]:
    """The rows to learn from, to hold out, and to evaluate on, which may be none.

    As many as `data.parts` says; otherwise the last `data.valid_share` is held out.
    """
    rows = len(table)
    if not config.parts:
        end = rows - max(1, round(config.valid_share * rows)) if config.valid_share else rows
        return range(end), range(end, rows), range(0)
    ends = np.cumsum([*config.parts, *[0] * (3 - len(config.parts))]).tolist()
    if ends[-1] > rows:
        raise DataError(
            f"has {rows:,} rows where data.parts asks for {ends[-1]:,}",
            place=table.file,
            remedy="ask for less",
        )
    return range(ends[0]), range(ends[0], ends[1]), range(ends[1], ends[2])


def find_windows(
    table: SeriesTable, shape: WindowShape, rows: range, *, reach_back: bool = True
) -> Windows:
    """Every window whose forecast lies within `rows`, and which touches no bad row and no gap.

    What it reads may lie before those rows, unless it may not reach back.
    """
    least = shape.window if reach_back else rows.start + shape.window
    starts = np.arange(max(least, rows.start), rows.stop - shape.horizon + 1)
    broken = np.cumsum(np.concatenate([[0], ~table.usable | ~table.follows]))
    first, end = starts - shape.window, starts + shape.horizon
    inside = broken[end] - broken[first]
    inside -= ~table.follows[first] & table.usable[first]  # a gap before its first row is outside
    return Windows(starts[inside == 0], shape)


def source_rows(table: SeriesTable, horizon: int) -> NDArray[np.float64]:
    """What is read at each step: the observed columns, and the known ones of a horizon later."""
    observed, known = np.split(table.values, [table.columns.observation_width], axis=1)
    later = np.full_like(known, np.nan)
    later[: max(0, len(known) - horizon)] = known[horizon:]
    return np.concatenate([observed, later], axis=1)


def window_corpus(
    table: SeriesTable,
    chosen: Windows,
    fields: tuple[SeriesField, SeriesField],
    *,
    directory: Path,
    fingerprint: str,
) -> Corpus:
    """The windows as a corpus, with the rows that they touch and no others.

    A window's line is that of the first row it forecasts.
    """
    starts, (window, horizon) = chosen
    first, end = int(starts[0]) - window, int(starts[-1]) + horizon
    targets = table.values[first:end, : len(table.columns.targets)]
    read = fields[0].scale(source_rows(table, horizon)[first:end])
    written = fields[1].scale(targets)
    spans = (
        np.stack([starts - window, starts], axis=1) - first,
        np.stack([starts, starts + horizon], axis=1) - first,
    )

    def write(place: Path) -> dict[str, Any]:
        return write_tables(
            (np.nan_to_num(read), np.nan_to_num(written)),
            spans,
            lines=table.lines[starts],
            directory=place,
            file=table.file,
        )

    return Corpus.from_writer(write, directory=directory, fingerprint=fingerprint)
