"""Windows over a series: the rows that each one reads and forecasts, as a corpus.

A corpus stores the table once; its rows are windows, given by start and end, so that overlaps take
no space.
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
    """The steps to read, and the steps to forecast."""

    window: int
    horizon: int


class Windows(NamedTuple):
    """The first row that each window forecasts, ascending."""

    starts: NDArray[np.int64]
    shape: WindowShape


def split_ranges(table: SeriesTable, config: DataConfig) -> tuple[range, range, range]:
    """The ranges of training, validation and test rows; the last may be empty.

    Sizes are `data.parts` if set; otherwise the last `data.valid_share` is held out.
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
    """Every window whose forecast lies within `rows` and that has no unusable row or gap.

    Its inputs may lie before those rows if `reach_back`.
    """
    least = shape.window if reach_back else rows.start + shape.window
    starts = np.arange(max(least, rows.start), rows.stop - shape.horizon + 1)
    broken = np.cumsum(np.concatenate([[0], ~table.usable | ~table.follows]))
    first, end = starts - shape.window, starts + shape.horizon
    inside = broken[end] - broken[first]
    inside -= ~table.follows[first] & table.usable[first]  # a gap before its first row is outside
    return Windows(starts[inside == 0], shape)


def source_rows(table: SeriesTable, horizon: int) -> NDArray[np.float64]:
    """The inputs of each step: the observed columns, and the known columns one horizon later."""
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
    """Build a corpus of windows, with only the rows that they use.

    A window's line is that of its first forecast row.
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
