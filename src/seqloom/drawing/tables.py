"""Heat maps of signed numbers."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MAP",
    "PositionCurve",
    "fill_position_tables",
    "fill_rows",
    "fill_tables",
    "frame_axes",
    "largest_magnitude",
]

MAP = "RdBu"  # blue is positive, red negative
WIDE = 40  # columns from which tables are stacked vertically
NARROW = 16  # columns up to which three tables fit side by side
ROOMY = 24  # columns up to which the cells of a single row show numbers


def fill_tables(
    figure: "Figure",
    tables: Mapping[str, np.ndarray],
    columns: Sequence[str],
    rows: Sequence[str],
    *,
    source: int,
) -> None:
    """Draw each table with its own scale; a line separates the source from the prefix."""
    cell = max(0.12, min(0.3, 5 / len(columns)))
    size = max(1.6, cell * len(columns)), max(0.8, cell * len(rows))
    across = 1 if len(columns) > WIDE else 2 + (len(tables) == 3 and len(columns) <= NARROW)
    down = math.ceil(len(tables) / across)
    figure.set_size_inches(across * (size[0] + 0.9), down * (size[1] + 1.2))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for axes in grid.flat[len(tables) :]:
        axes.set_axis_off()
    for axes, (name, table) in zip(grid.flat, tables.items(), strict=False):
        most = largest_magnitude(table)
        image = axes.imshow(table, cmap=MAP, vmin=-most, vmax=most, aspect="auto")
        axes.set_title(name, fontsize=10)
        axes.set_xticks(range(len(columns)), columns, rotation=90)
        axes.set_yticks(range(len(rows)), rows)
        if 0 < source < len(columns):
            axes.axvline(source - 0.5, color="0.4", linewidth=0.8)
        frame_axes(axes, max(5.5, min(9.0, 36 * cell)))
        bar = figure.colorbar(image, ax=axes, pad=0.02, aspect=min(30, max(4, 8 * size[1])))
        bar.ax.tick_params(labelsize=7)


def fill_rows(
    figure: "Figure", tables: Mapping[str, np.ndarray], columns: Sequence[str], title: str
) -> None:
    """Draw tables of one row as the rows of one map, each normalized by its largest value."""
    cell = max(0.16, min(0.55, 11 / len(columns)))
    figure.set_size_inches(max(3.0, cell * len(columns) + 1.8), 0.32 * len(tables) + 0.9)
    axes = figure.add_subplot()
    whole = np.stack([table[0] for table in tables.values()])
    shares = whole / np.maximum(np.abs(whole).max(axis=1, keepdims=True), 1e-30)
    axes.imshow(shares, cmap=MAP, vmin=-1, vmax=1, aspect="auto")
    axes.set_title(title, fontsize=10, loc="left")
    turned = 90 if len(columns) > 12 or max(map(len, columns)) > 8 else 0
    axes.set_xticks(range(len(columns)), columns, rotation=turned)
    axes.set_yticks(range(len(tables)), tables)
    frame_axes(axes, 8)
    if len(columns) <= ROOMY:
        for (row, column), value in np.ndenumerate(whole):
            ink = "white" if abs(shares[row, column]) > 0.6 else "0.3"
            axes.text(
                column, row, f"{value:+.2f}", ha="center", va="center", fontsize=6.5, color=ink
            )


class PositionCurve(NamedTuple):
    """Values along an axis that begins at `first`."""

    values: np.ndarray
    first: int
    axis: str
    name: str


def fill_position_tables(
    titles: Sequence[str],
    tables: Sequence[np.ndarray],
    curves: Sequence[PositionCurve],
    figure: "Figure",
    _labels: Sequence[str],
) -> None:
    """Draw a heat map of each table (N, P), and a curve beside it."""
    figure.set_size_inches(9, 3.4 * len(tables))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(tables), 2, width_ratios=(3, 2), squeeze=False)
    for title, table, curve, (left, right) in zip(titles, tables, curves, grid, strict=True):
        count, size = table.shape
        most = largest_magnitude(table)
        image = left.imshow(
            table, aspect="auto", cmap="RdBu", interpolation="nearest", vmin=-most, vmax=most,
            extent=(-0.5, size - 0.5, count + 0.5, 0.5),
        )  # fmt: skip
        figure.colorbar(image, ax=left)
        left.set_title(title, fontsize=10)
        left.set_xlabel(f"value, of {size}")
        left.set_ylabel("position t")
        places = range(curve.first, curve.first + len(curve.values))
        right.plot(places, curve.values, lw=2 if curve.values.min(initial=0) >= 0 else 0.8,
                   color="#1f5fa8")  # fmt: skip
        if curve.values.min(initial=0) >= 0:
            right.set_ylim(bottom=0)
        right.set_xlabel(curve.axis)
        right.set_ylabel(curve.name, fontsize=9)
        right.grid(color="0.92")
        right.spines[["top", "right"]].set_visible(False)


def frame_axes(axes: "Axes", letters: float) -> None:
    """Label axes without ticks, in a thin frame."""
    axes.tick_params(length=0, labelsize=letters)
    axes.spines[:].set_color("0.8")


def largest_magnitude(table: np.ndarray) -> float:
    """The largest magnitude in a table, for a symmetric scale; 1 if all are 0."""
    return float(np.abs(table).max()) or 1.0
