"""Attention as heat maps, in the terminal and as pictures, and as threads."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.cells import cell_len

from seqloom.drawing.heat_map import fill_heat_map, fill_heat_maps, scale_top
from seqloom.drawing.image_files import Drawing
from seqloom.drawing.threads import fill_threads
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.terminal import panels, terminal_label
from seqloom.explanations.attention import HeadMaps
from seqloom.explanations.attention_map import LEAST_WEIGHT, AttentionMap, Threads
from seqloom.explanations.plain_values import tick_label

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
SHOWN = 3  # threads per token in the terminal


@text_of.register
def render_text(attention: AttentionMap, width: int = 80) -> str:
    """A heat map of shade blocks; a source that is too wide continues in a panel below.

    Lines fit `width` cells, unless a label and one column do not.
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
    """The meaning of each shade; scaled if the top is not 1."""
    return LEGEND if top == 1 else LEGEND.replace("weight", f"×{top:g}")


@drawing_of.register
def draw_map(attention: AttentionMap) -> Drawing:
    """A heat map, legible up to hundreds of tokens a side."""
    labels = tuple(map(tick_label, (*attention.source, *attention.target)))
    dots = 110 if max(attention.weights.shape) > 100 else 150
    return Drawing(labels, partial(fill_heat_map, attention.weights), dots)


def draw_attention(attention: AttentionMap, path: Path) -> None:
    """Draw the map as PNG or SVG, by the path's suffix."""
    draw_map(attention).save(path)


@text_of.register
def heads_text(heads: HeadMaps, width: int = 80) -> str:
    """A heat map for each layer and head."""
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
    maps = [
        {f"layer {layer.layer}, head {n}": weights for n, weights in enumerate(layer.weights, 1)}
        for layer in heads.layers
    ]
    labels = tuple(map(tick_label, (*first.columns, *first.rows)))
    return Drawing(labels, partial(fill_heat_maps, maps), 120)


@text_of.register
def threads_text(threads: Threads, width: int = 80) -> str:
    """For each output token, the source tokens with its largest weights."""
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
    attention = threads.attention
    labels = tuple(map(tick_label, (*attention.source, *attention.target)))
    fill = partial(fill_threads, attention.weights, threads.heavy_weights())
    return Drawing(labels, fill, 130)
