"""Heat maps of weights, legible for one token per side up to hundreds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["fill_heat_map", "fill_heat_maps", "scale_top"]

TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # upper ends of the colour scale


def scale_top(weights: np.ndarray) -> float:
    """The upper end of the colour scale: the smallest round number that no weight exceeds."""
    most = float(weights.max())
    return next((top for top in TOPS if most <= top), 1.0)


@dataclass(frozen=True)
class _Layout:
    """Sizes of a heat map in inches, with legible labels for any number of cells."""

    columns: int
    rows: int

    @property
    def cell(self) -> float:
        """The side of a cell: large for few tokens, at least a small letter for hundreds."""
        most = max(self.columns, self.rows)
        return min(60 / most, max(0.15, min(0.46, 9.2 / most)))

    @property
    def map(self) -> tuple[float, float]:
        """Width and height of the map without the colour bar."""
        return self.columns * self.cell, self.rows * self.cell

    @property
    def page(self) -> tuple[float, float]:
        """Width and height with the colour bar."""
        width, height = self.map
        return width + 0.4, max(height, 1.4)

    @property
    def font_size(self) -> float:
        """Font size in points."""
        return max(6.0, min(11.0, 49 * self.cell))

    @property
    def is_roomy(self) -> bool:
        """Whether a cell has room for its number and a margin."""
        return self.cell > 0.4

    @property
    def stride(self) -> int:
        """The number of tokens per label that fits."""
        return math.ceil(0.1 / self.cell)

    def box(self, left: float, size: tuple[float, float]) -> tuple[float, float, float, float]:
        """A box of this size at the top of the page, in figure coordinates."""
        (width, height), (page_width, page_height) = size, self.page
        return (
            left / page_width,
            1 - height / page_height,
            width / page_width,
            height / page_height,
        )


def fill_heat_map(weights: np.ndarray, figure: "Figure", labels: Sequence[str]) -> None:
    """Draw the map and a colour bar; labels are of the columns, then of the rows."""
    columns, rows = labels[: weights.shape[1]], labels[weights.shape[1] :]
    layout = _Layout(len(columns), len(rows))
    figure.set_size_inches(*layout.page)
    axes = figure.add_axes(layout.box(0, layout.map))
    top = scale_top(weights)
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=top, aspect="auto")
    _label(axes, layout, columns, rows)
    if layout.is_roomy:
        _write_numbers(axes, weights, top)
    bar_height = min(layout.page[1], 4.0)
    bar = figure.add_axes(layout.box(layout.map[0] + 0.2, (0.13, bar_height)))
    figure.colorbar(image, cax=bar, ticks=[share * top for share in (0, 0.25, 0.5, 0.75, 1)])
    bar.tick_params(labelsize=8, length=2)
    bar.spines[:].set_visible(False)


def _label(axes: "Axes", layout: _Layout, columns: Sequence[str], rows: Sequence[str]) -> None:
    """Label source tokens on top, rotated if long, and output tokens on the left."""
    turn = 45 if layout.cell > 0.25 else 90
    across, down = range(0, len(columns), layout.stride), range(0, len(rows), layout.stride)
    axes.xaxis.tick_top()
    axes.set_xticks(across, [columns[i] for i in across])
    axes.set_yticks(down, [rows[i] for i in down])
    labels = axes.get_xticklabels()
    if any(len(text.get_text()) > 2 for text in labels):
        for text in labels:
            text.set(rotation=turn, rotation_mode="anchor", ha="left")
            text.set_verticalalignment("center" if turn == 90 else "baseline")
    axes.tick_params(length=0, pad=4, labelsize=layout.font_size)
    axes.spines[:].set_color("0.8")
    if layout.is_roomy:
        axes.spines[:].set_visible(False)
        axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="minor", length=0)


def _write_numbers(axes: "Axes", weights: np.ndarray, top: float) -> None:
    """Write each weight into its cell, without the leading zero, unless it rounds to zero."""
    for (row, column), weight in np.ndenumerate(weights):
        text = f"{weight:.2f}"
        if text != "0.00":
            ink = "white" if weight > 0.55 * top else "0.25"
            axes.text(
                column, row, text.removeprefix("0"), ha="center", va="center", fontsize=8, color=ink
            )


def fill_heat_maps(
    maps: Sequence[Mapping[str, np.ndarray]], figure: "Figure", labels: Sequence[str]
) -> None:
    """Draw rows of small titled maps, with labels of columns, then of rows, at the outer edges
    only.
    """
    across, count = max(map(len, maps)), next(iter(maps[0].values())).shape[1]
    columns, rows = labels[:count], labels[count:]
    cell = max(0.07, min(0.22, 2.6 / max(len(columns), len(rows))))
    size = max(1.1, cell * len(columns)), max(0.8, cell * len(rows))
    figure.set_size_inches(across * (size[0] + 0.15), len(maps) * (size[1] + 0.3))
    figure.set_layout_engine("constrained")
    for shown, line in zip(maps, figure.subplots(len(maps), across, squeeze=False), strict=True):
        for axes in line[len(shown) :]:
            axes.set_axis_off()
        for axes, (title, weights) in zip(line, shown.items(), strict=False):
            axes.imshow(weights, cmap="Blues", vmin=0, vmax=scale_top(weights), aspect="auto")
            axes.set_title(title, fontsize=8, pad=4)
            below, left = columns if shown is maps[-1] else (), rows if axes is line[0] else ()
            axes.set_xticks(range(len(below)), below, rotation=90)
            axes.set_yticks(range(len(left)), left)
            axes.tick_params(length=0, labelsize=max(5.0, min(8.0, 45 * cell)))
            axes.spines[:].set_color("0.8")
