"""Where the decoder looked while it wrote: the weights, in the terminal and as a picture (S9).

The source runs across and the output down; every row of weights sums to 1.
"""

import math
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len, set_cell_size

from seqloom.drawing.image_files import Drawing
from seqloom.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "AttentionMap",
    "draw_attention",
    "panels",
    "render_text",
    "round_values",
    "scale_top",
    "terminal_label",
    "tick_label",
    "truncate_line",
    "visible_label",
    "wrap_lines",
]

ROUNDING = 0.01  # how far half-precision weights may be from a sum of 1
SHADES = ((0.05, "·"), (0.25, "░"), (0.50, "▒"), (0.75, "▓"), (1.0, "█"))
LEGEND = "weight  · <.05  ░ <.25  ▒ <.50  ▓ <.75  █ up to 1"
TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of a scale of weights
DIGITS = 6  # of a weight in JSON
LONGEST_LABEL = 14  # terminal cells
LONGEST_TICK = 28  # characters in a picture
RIGHT_TO_LEFT = {"R", "AL"}
JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The weight that each output token gave to each source token, as (T, S)."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64)
        shape = (len(self.target), len(self.source))
        if weights.shape != shape or 0 in shape:
            raise DataError(
                f"attention: weights of shape {weights.shape} for {shape[0]} output and {shape[1]} "
                "source tokens; give one row for each output and one column for each source token"
            )
        if not np.isfinite(weights).all() or weights.min() < 0:
            raise DataError("attention: a weight is negative or not finite; give probabilities")
        off = np.abs(weights.sum(axis=1) - 1)
        if off.max() > ROUNDING:
            row = int(off.argmax()) + 1
            total = weights[row - 1].sum()
            raise DataError(f"attention: row {row} sums to {total:.3f}; give rows that sum to 1")
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "weights": round_values(self.weights),
        }

    @property
    def top(self) -> float:
        """The end of a scale of weights: 1, or less where all of them are small."""
        return scale_top(self.weights)

    def text(self, width: int = 80) -> str:
        """As `render_text` gives it."""
        return render_text(self, width)

    def drawing(self) -> Drawing:
        """A heat map, legible up to hundreds of tokens a side."""
        labels = tuple(map(tick_label, (*self.source, *self.target)))
        dots = 110 if max(self.weights.shape) > 100 else 150
        return Drawing(labels, partial(_fill, self), dots)


def scale_top(weights: np.ndarray) -> float:
    """The least round number that no weight is above."""
    most = float(weights.max())
    return next((top for top in TOPS if most <= top), 1.0)


def round_values(values: np.ndarray) -> list[Any]:
    """Nested lists of numbers with six digits."""
    plain: list[Any] = np.round(values.astype(np.float64), DIGITS).tolist()
    return plain


def render_text(attention: AttentionMap, width: int = 80) -> str:
    """A heat map of shade blocks; where the source is too wide it goes on in a panel below.

    No line is wider than `width` cells, unless one label and one column already are.
    """
    columns = [terminal_label(token) for token in attention.source]
    rows = [terminal_label(token) for token in attention.target]
    margin = max(map(cell_len, rows))
    lines: list[str] = []
    for panel in panels([cell_len(label) for label in columns], width - margin):
        lines.append(_line("", [columns[i] for i in panel], margin))
        for label, weights in zip(rows, attention.weights, strict=True):
            blocks = [_shade(weights[i] / attention.top) * cell_len(columns[i]) for i in panel]
            lines.append(_line(label, blocks, margin))
        lines.append("")
    legend = _legend(attention.top)
    lines.append(legend if len(legend) <= width else "")
    return "\n".join(line.rstrip() for line in lines).rstrip()


def panels(sizes: Sequence[int], room: int) -> Iterator[range]:
    """Runs of columns, each with a space before it, that fit into the room; at least one a run."""
    first, used = 0, 0
    for position, size in enumerate(sizes):
        if used + 1 + size > room and position > first:
            yield range(first, position)
            first, used = position, 0
        used += 1 + size
    yield range(first, len(sizes))


def _line(label: str, cells: Sequence[str], margin: int) -> str:
    padding = " " * (margin - cell_len(label))
    return " ".join([label + padding, *cells])


def _shade(share: float) -> str:
    return next((shade for limit, shade in SHADES if share < limit), SHADES[-1][1])


def _legend(top: float) -> str:
    """What each shade stands for; times the top where that is not 1."""
    return LEGEND if top == 1 else LEGEND.replace("weight", f"×{top:g}")


def truncate_line(line: str, width: int) -> str:
    """A line cut to so many cells."""
    return line if cell_len(line) <= width else set_cell_size(line, max(1, width - 1)) + "…"


def wrap_lines(lines: Iterable[str], width: int) -> str:
    """Lines that go on below, further to the right, where they are too long."""
    return "\n".join(
        part
        for line in lines
        for part in textwrap.wrap(
            line, max(20, width), subsequent_indent="    ", drop_whitespace=True
        )
        or [""]
    )


def terminal_label(token: str, longest: int = LONGEST_LABEL) -> str:
    """A token as at least one visible cell that neither reorders nor controls the terminal."""
    label = visible_label(token)
    if cell_len(label) > longest:
        label = set_cell_size(label, longest - 1).rstrip() + "…"
    if any(unicodedata.bidirectional(character) in RIGHT_TO_LEFT for character in label):
        label += "\N{LEFT-TO-RIGHT MARK}"
    return label


def visible_label(token: str) -> str:
    """Spaces and control characters as their pictures, a lone combining mark on a dotted circle."""
    label = "".join(map(_visible_character, token)).strip(JOINERS) or "∅"
    if cell_len(label[0]) == 0 or unicodedata.category(label[0]).startswith("M"):
        label = "◌" + label
    return label


def _visible_character(character: str) -> str:
    if character == " ":
        return "␣"
    if character in JOINERS:
        return character
    if ord(character) < 0x20:
        return chr(0x2400 + ord(character))
    if unicodedata.category(character)[0] in "CZ":
        return f"<{ord(character):X}>"
    return character


def draw_attention(attention: AttentionMap, path: Path) -> None:
    """Draw the map as PNG or SVG, by the path's suffix."""
    attention.drawing().save(path)


def tick_label(token: str) -> str:
    """A token as a short label of a picture, spaces and controls made visible."""
    label = visible_label(token)
    return label if len(label) <= LONGEST_TICK else label[: LONGEST_TICK - 1] + "…"


@dataclass(frozen=True)
class _Layout:
    """Sizes of a picture in inches, so that a cell holds a legible label however many there are."""

    columns: int
    rows: int

    @property
    def cell(self) -> float:
        """The side of a cell: roomy for a few tokens, at least a small letter for hundreds."""
        most = max(self.columns, self.rows)
        return min(60 / most, max(0.15, min(0.46, 9.2 / most)))

    @property
    def map(self) -> tuple[float, float]:
        """Width and height of the map alone."""
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
        """Whether a cell has room for its number and a rim."""
        return self.cell > 0.4

    @property
    def stride(self) -> int:
        """Every how many tokens there is room for a label."""
        return math.ceil(0.1 / self.cell)

    def box(self, left: float, size: tuple[float, float]) -> tuple[float, float, float, float]:
        """A box of that size at the top of the page, in shares of it."""
        (width, height), (page_width, page_height) = size, self.page
        return (
            left / page_width,
            1 - height / page_height,
            width / page_width,
            height / page_height,
        )


def _fill(attention: AttentionMap, figure: "Figure", labels: Sequence[str]) -> None:
    """Put the map, its labels and the colour bar on the figure."""
    columns, rows = labels[: len(attention.source)], labels[len(attention.source) :]
    layout = _Layout(len(columns), len(rows))
    figure.set_size_inches(*layout.page)
    axes = figure.add_axes(layout.box(0, layout.map))
    top = attention.top
    image = axes.imshow(attention.weights, cmap="Blues", vmin=0, vmax=top, aspect="auto")
    _label(axes, layout, columns, rows)
    if layout.is_roomy:
        _write_numbers(axes, attention.weights, top)
    bar_height = min(layout.page[1], 4.0)
    bar = figure.add_axes(layout.box(layout.map[0] + 0.2, (0.13, bar_height)))
    figure.colorbar(image, cax=bar, ticks=[share * top for share in (0, 0.25, 0.5, 0.75, 1)])
    bar.tick_params(labelsize=8, length=2)
    bar.spines[:].set_visible(False)


def _label(axes: "Axes", layout: _Layout, columns: Sequence[str], rows: Sequence[str]) -> None:
    """Source tokens on top, turned where they are long, and output tokens on the left."""
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
    """Each weight in its cell, without the leading zero; nothing where it rounds to zero."""
    for (row, column), weight in np.ndenumerate(weights):
        text = f"{weight:.2f}"
        if text != "0.00":
            ink = "white" if weight > 0.55 * top else "0.25"
            axes.text(
                column, row, text.removeprefix("0"), ha="center", va="center", fontsize=8, color=ink
            )
