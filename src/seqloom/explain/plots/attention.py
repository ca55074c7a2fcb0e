"""Attention as shade blocks in the terminal, heat maps and threads."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from seqloom.drawing.heat_map import fill_heat_map, scale_top
from seqloom.drawing.image_files import Drawing
from seqloom.drawing.threads import fill_threads
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.compute.attention import HeadMaps
from seqloom.explain.compute.attention_map import LEAST_WEIGHT, AttentionMap, Threads
from seqloom.explain.compute.plain_values import tick_label
from seqloom.explain.plots.terminal import panels, terminal_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "draw_attention",
    "draw_heads",
    "draw_map",
    "draw_threads",
    "heads_text",
    "render_text",
    "threads_text",
]

SHADES = ((0.05, "·"), (0.25, "░"), (0.50, "▒"), (0.75, "▓"), (1.0, "█"))
LEGEND = "weight  · <.05  ░ <.25  ▒ <.50  ▓ <.75  █ up to 1"
SHOWN = 3  # threads of a token in the terminal


@text_of.register
def render_text(attention: AttentionMap, width: int = 80) -> str:
    """A heat map of shade blocks; where the source is too wide it goes on in a panel below.

    No line is wider than `width` cells, unless one label and one column already are.
    """
    columns = [terminal_label(token) for token in attention.source]
    rows = [terminal_label(token) for token in attention.target]
    margin = max(map(cell_len, rows))
    top = scale_top(attention.weights)
    lines: list[str] = []
    for panel in panels([cell_len(label) for label in columns], width - margin):
        lines.append(_line("", [columns[i] for i in panel], margin))
        for label, weights in zip(rows, attention.weights, strict=True):
            blocks = [_shade(weights[i] / top) * cell_len(columns[i]) for i in panel]
            lines.append(_line(label, blocks, margin))
        lines.append("")
    legend = _legend(top)
    lines.append(legend if len(legend) <= width else "")
    return "\n".join(line.rstrip() for line in lines).rstrip()


def _line(label: str, cells: Sequence[str], margin: int) -> str:
    padding = " " * (margin - cell_len(label))
    return " ".join([label + padding, *cells])


def _shade(share: float) -> str:
    return next((shade for limit, shade in SHADES if share < limit), SHADES[-1][1])


def _legend(top: float) -> str:
    """What each shade stands for; times the top where that is not 1."""
    return LEGEND if top == 1 else LEGEND.replace("weight", f"×{top:g}")


@drawing_of.register
def draw_map(attention: AttentionMap) -> Drawing:
    """A heat map, legible up to hundreds of tokens a side."""
    labels = tuple(map(tick_label, (*attention.source, *attention.target)))
    dots = 110 if max(attention.weights.shape) > 100 else 150
    return Drawing(labels, partial(_fill_map, attention), dots)


def _fill_map(attention: AttentionMap, figure: "Figure", labels: Sequence[str]) -> None:
    count = len(attention.source)
    fill_heat_map(figure, attention.weights, labels[:count], labels[count:])


def draw_attention(attention: AttentionMap, path: Path) -> None:
    """Draw the map as PNG or SVG, by the path's suffix."""
    draw_map(attention).save(path)


@text_of.register
def heads_text(heads: HeadMaps, width: int = 80) -> str:
    """A heat map for each layer and head, one below the other."""
    parts = []
    for layer in heads.layers:
        for number in range(1, len(layer.weights) + 1):
            heading = f"layer {layer.layer}, head {number}"
            parts += [heading, render_text(layer.head(number), width), ""]
    return "\n".join(parts).rstrip()


@drawing_of.register
def draw_heads(heads: HeadMaps) -> Drawing:
    """A row of heat maps for each layer."""
    first = heads.layers[0]
    return Drawing(
        tuple(map(tick_label, (*first.columns, *first.rows))), partial(_fill_heads, heads), 120
    )


def _fill_heads(heads: HeadMaps, figure: "Figure", labels: Sequence[str]) -> None:
    """Small maps in a grid, layers down and heads across, with labels at the rim alone."""
    first = heads.layers[0]
    columns, rows = labels[: len(first.columns)], labels[len(first.columns) :]
    across = max(len(layer.weights) for layer in heads.layers)
    cell = max(0.07, min(0.22, 2.6 / max(len(columns), len(rows))))
    size = max(1.1, cell * len(columns)), max(0.8, cell * len(rows))
    figure.set_size_inches(across * (size[0] + 0.15), len(heads.layers) * (size[1] + 0.3))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(heads.layers), across, squeeze=False)
    for layer, line in zip(heads.layers, grid, strict=True):
        for number, axes in enumerate(line):
            if number >= len(layer.weights):
                axes.set_axis_off()
                continue
            weights = layer.weights[number]
            axes.imshow(weights, cmap="Blues", vmin=0, vmax=scale_top(weights), aspect="auto")
            axes.set_title(f"layer {layer.layer}, head {number + 1}", fontsize=8, pad=4)
            _label_edges(
                axes, columns if layer is heads.layers[-1] else (), rows if not number else ()
            )
            axes.tick_params(length=0, labelsize=max(5.0, min(8.0, 45 * cell)))
            axes.spines[:].set_color("0.8")


def _label_edges(axes: "Axes", columns: Sequence[str], rows: Sequence[str]) -> None:
    """Labels below and on the left, where there are any."""
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)


@text_of.register
def threads_text(threads: Threads, width: int = 80) -> str:
    """For each output token the source tokens that it hangs on, the heaviest first."""
    lines = []
    for token, weights in zip(threads.attention.target, threads.attention.weights, strict=True):
        order = np.argsort(-weights, kind="stable")[:SHOWN]
        parts = [
            f"{terminal_label(threads.attention.source[s])} {weights[s]:.2f}"
            for s in order
            if weights[s] >= LEAST_WEIGHT
        ]
        lines.append(f"{terminal_label(token)} ← {', '.join(parts)}"[:width])
    return "\n".join(lines)


@drawing_of.register
def draw_threads(threads: Threads) -> Drawing:
    """Source on the left, output on the right, threads between them."""
    labels = tuple(map(tick_label, (*threads.attention.source, *threads.attention.target)))
    return Drawing(labels, partial(_fill_threads, threads), 130)


def _fill_threads(threads: Threads, figure: "Figure", labels: Sequence[str]) -> None:
    weights, count = threads.attention.weights, len(threads.attention.source)
    heavy = [(t, s, float(weights[t, s])) for t, s in threads.heavy_weights()]
    fill_threads(figure, heavy, labels[:count], labels[count:])
