"""Attention and attribution over pictures, recordings, videos and series."""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.tables import MAP, frame_axes, largest_magnitude
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.compute.attribution import METHODS
from seqloom.explain.compute.media import (
    AttributionView,
    PictureAttention,
    PictureAttributionView,
    SeriesAttributionView,
    SoundAttention,
    SoundAttributionView,
    VideoAttention,
)
from seqloom.explain.compute.plain_values import tick_label
from seqloom.explain.plots.attention import render_text
from seqloom.explain.plots.attribution import output_label
from seqloom.explain.plots.terminal import terminal_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "draw_picture",
    "draw_picture_attribution",
    "draw_series_attribution",
    "draw_sound",
    "draw_sound_attribution",
    "draw_video",
    "picture_text",
    "sound_text",
    "video_text",
]

ACROSS = 6  # panels in a row
PANEL = 1.7  # inches
WIDEST = 3.2  # inches of a panel
MOST_COLUMNS = 4  # of a forecast that are drawn
PREFIX_TITLE = "integrated, output before"
ATTENTION_TITLE = "attention, in the mean over the steps ahead"
BLUE, GREY = "#1f5fa8", "#6b6b6b"


@text_of.register
def picture_text(seen: PictureAttention, width: int = 80) -> str:
    """The cell that each token looked at most, counted from the upper left."""
    lines = []
    for token, weights in zip(seen.target, seen.weights, strict=True):
        row, column = np.unravel_index(weights.argmax(), weights.shape)
        most = f"row {row + 1}, column {column + 1} ({weights.max():.2f})"
        lines.append(f"{terminal_label(token)}\t{most}".expandtabs(16)[:width])
    rows, columns = seen.weights.shape[1:]
    return "\n".join([*lines, f"of a grid of {rows} rows and {columns} columns"])


@drawing_of.register
def draw_picture(seen: PictureAttention) -> Drawing:
    """The picture once for each token, bright where it looked."""
    return Drawing(tuple(map(tick_label, seen.target)), partial(_fill_picture_attention, seen), 130)


def _fill_picture_attention(
    seen: PictureAttention, figure: "Figure", labels: Sequence[str]
) -> None:
    height, width = seen.picture.shape[:2]
    across = max(1, min(len(labels), round(ACROSS * min(1.0, 2 * height / width))))
    down = math.ceil(len(labels) / across)
    wide = min(WIDEST, PANEL * max(1.0, width / height))
    figure.set_size_inches(across * wide, down * (wide * height / width + 0.3))
    figure.set_layout_engine("constrained")
    grey = seen.picture.mean(axis=2)
    grid = figure.subplots(down, across, squeeze=False).flatten()
    for axes in grid:
        axes.set_axis_off()
    for axes, label, weights in zip(grid, labels, seen.weights, strict=False):
        extent = (0, width, height, 0)
        axes.imshow(grey, cmap="gray", vmin=0, vmax=255, extent=extent)
        axes.imshow(
            weights, cmap="inferno", extent=extent, alpha=0.6, vmin=0, interpolation="bilinear"
        )
        axes.set_title(label, fontsize=9, pad=3)


@text_of.register
def sound_text(seen: SoundAttention, width: int = 80) -> str:
    """A heat map of shade blocks, the time across."""
    return render_text(seen.attention, width)


@drawing_of.register
def draw_sound(seen: SoundAttention) -> Drawing:
    """The bands over time, and below them the weights of each token over the same time."""
    return Drawing(
        tuple(map(tick_label, seen.attention.target)), partial(_fill_sound_attention, seen), 130
    )


def _fill_sound_attention(seen: SoundAttention, figure: "Figure", labels: Sequence[str]) -> None:
    weights = seen.attention.weights
    figure.set_size_inches(max(5.0, min(14.0, 3 * seen.seconds)), 1.6 + 0.19 * len(labels))
    figure.set_layout_engine("constrained")
    heard, looked = figure.subplots(2, 1, sharex=True, height_ratios=[1.4, 0.19 * len(labels)])
    bands = (0.0, seen.seconds, 0.0, float(seen.frames.shape[1]))
    heard.imshow(seen.frames.T, cmap="magma", origin="lower", aspect="auto", extent=bands)
    heard.set_ylabel("mel band", fontsize=8)
    rows = (0.0, seen.seconds, len(labels) - 0.5, -0.5)
    looked.imshow(weights, cmap="Blues", vmin=0, aspect="auto", extent=rows)
    looked.set_yticks(range(len(labels)), labels)
    looked.set_xlabel("seconds", fontsize=8)
    for axes in (heard, looked):
        axes.tick_params(length=0, labelsize=8)
        axes.spines[:].set_color("0.8")


@text_of.register
def video_text(seen: VideoAttention, width: int = 80) -> str:
    """A heat map of shade blocks, the frames across."""
    return render_text(seen.attention, width)


@drawing_of.register
def draw_video(seen: VideoAttention) -> Drawing:
    """The frames in a strip, and below each its weight for each token."""
    return Drawing(tuple(map(tick_label, seen.attention.target)), partial(_fill_video, seen), 130)


def _fill_video(seen: VideoAttention, figure: "Figure", labels: Sequence[str]) -> None:
    count, height, width = seen.frames.shape[:3]
    side = min(1.3, 14.0 / count)  # inches of a frame
    strip, table = side * height / width, 0.19 * len(labels)
    figure.set_size_inches(max(5.0, side * count + 1.2), strip + table + 0.5)
    figure.set_layout_engine("constrained")
    shown, looked = figure.subplots(2, 1, sharex=True, height_ratios=[strip, table])
    for number, frame in enumerate(seen.frames):
        plain = np.broadcast_to(frame, (height, width, 3))
        left, right = number + 0.53, number + 1.47
        shown.imshow(plain, extent=(left, right, 0.0, 1.0), aspect="auto")
        shown.plot([left, right, right, left, left], [0, 0, 1, 1, 0], color="0.7", lw=0.8)
    shown.set_ylim(-0.01, 1.01)
    shown.set_axis_off()
    rows = (0.5, count + 0.5, len(labels) - 0.5, -0.5)
    looked.imshow(seen.attention.weights, cmap="Blues", vmin=0, aspect="auto", extent=rows)
    looked.set_xlim(0.5, count + 0.5)
    looked.set_xticks(range(1, count + 1, max(1, count // 16)))
    looked.set_yticks(range(len(labels)), labels)
    looked.set_xlabel("frame", fontsize=8)
    looked.tick_params(length=0, labelsize=8)
    looked.spines[:].set_color("0.8")


@drawing_of.register
def draw_picture_attribution(seen: PictureAttributionView) -> Drawing:
    """The picture for each thing that is said and each look."""
    return Drawing(
        tuple(map(tick_label, seen.attribution.target)),
        partial(_fill_picture_attribution, seen),
        130,
    )


def _over_source(seen: AttributionView) -> dict[str, np.ndarray]:
    """The methods but attention by their names in words, over the source alone."""
    return {
        METHODS[name]: table[:, : len(seen.attribution.source)]
        for name, table in seen.attribution.tables().items()
        if name != "attention"
    }


def _fill_picture_attribution(
    seen: PictureAttributionView, figure: "Figure", labels: Sequence[str]
) -> None:
    """A row of pictures for each thing that is said, a column for each look; then the prefix."""
    height, width = seen.picture.shape[:2]
    tables = {name: t.reshape(-1, *seen.grid) for name, t in _over_source(seen).items()}
    if seen.attention is not None:
        tables = {"attention": seen.attention.weights, **tables}
    before = bool(seen.attribution.inputs)
    wide = 1.7 * min(1.6, max(1.0, width / height))
    size = (len(tables) + before) * wide + 0.4, len(labels) * (wide * height / width + 0.1) + 0.6
    figure.set_size_inches(*size)
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(labels), len(tables) + before, squeeze=False)
    for row, label in enumerate(labels):
        for axes, table in zip(grid[row], tables.values(), strict=False):
            _draw_cells(axes, seen, table[row], largest_magnitude(table))
        grid[row][0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=9)
    for axes, name in zip(grid[0], tables, strict=False):
        axes.set_title(name, fontsize=9, pad=3)
    if before:
        table = seen.attribution.integrated[:, len(seen.attribution.source) :]
        for row, axes in enumerate(grid[:, -1]):
            _draw_prefix(axes, table[row : row + 1], largest_magnitude(table))
        grid[0][-1].set_title(PREFIX_TITLE, fontsize=9, pad=3)
        names = seen.attribution.inputs
        grid[-1][-1].set_xticks(range(len(names)), map(tick_label, names), rotation=90)


def _draw_cells(axes: "Axes", seen: PictureAttributionView, cells: np.ndarray, most: float) -> None:
    """Cells over the faded picture, the clearer the more they count."""
    height, width = seen.picture.shape[:2]
    extent = (0, width, height, 0)
    axes.imshow(seen.picture.mean(axis=2), cmap="gray", vmin=-120, vmax=255, extent=extent)
    strength = np.abs(cells) / most
    axes.imshow(
        cells, cmap=MAP, vmin=-most, vmax=most, extent=extent, alpha=0.85 * np.sqrt(strength)
    )
    axes.set_xticks([])
    axes.set_yticks([])
    frame_axes(axes, 8)


def _draw_prefix(axes: "Axes", cells: np.ndarray, most: float) -> None:
    """What each token written before counted for."""
    axes.imshow(cells, cmap=MAP, vmin=-most, vmax=most, aspect="auto")
    axes.set_xticks([])
    axes.set_yticks([])
    frame_axes(axes, 7)


@drawing_of.register
def draw_sound_attribution(seen: SoundAttributionView) -> Drawing:
    """The bands over time, and below them each look over the same time."""
    return Drawing(
        tuple(map(tick_label, seen.attribution.target)), partial(_fill_sound_attribution, seen), 130
    )


def _fill_sound_attribution(
    seen: SoundAttributionView, figure: "Figure", labels: Sequence[str]
) -> None:
    """The spectrum, then a map of what is said over time for each look."""
    tables = {
        name: table.reshape(len(labels), *seen.shape).sum(axis=2)
        for name, table in _over_source(seen).items()
    }
    if seen.attention is not None:
        tables = {"attention": seen.attention.attention.weights, **tables}
    tall = max(0.35, 0.17 * len(labels))
    before = len(seen.attribution.inputs)
    count = len(tables) + bool(before)
    figure.set_size_inches(max(5.0, min(14.0, 3 * seen.seconds)), 1.6 + count * (tall + 0.35))
    figure.set_layout_engine("constrained")
    heard, *maps = figure.subplots(1 + count, 1, height_ratios=[1.3, *[tall] * count])
    bands = (0.0, seen.seconds, 0.0, float(seen.frames.shape[1]))
    heard.imshow(seen.frames.T, cmap="magma", origin="lower", aspect="auto", extent=bands)
    heard.set_ylabel("mel band", fontsize=8)
    for axes, (name, table) in zip(maps, tables.items(), strict=False):
        most = largest_magnitude(table)
        rows = (0.0, seen.seconds, len(labels) - 0.5, -0.5)
        axes.imshow(table, cmap=MAP, vmin=-most, vmax=most, aspect="auto", extent=rows)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_title(name, fontsize=9, pad=3, loc="left")
    for axes in (heard, *maps):
        frame_axes(axes, 7.5)
    for axes in (heard, *maps[: len(tables) - 1]):
        axes.set_xticklabels([])
    maps[len(tables) - 1].set_xlabel("seconds", fontsize=8)
    if before:
        table = seen.attribution.integrated[:, len(seen.attribution.source) :]
        _draw_prefix(maps[-1], table, largest_magnitude(table))
        maps[-1].set_title(PREFIX_TITLE, fontsize=9, pad=3, loc="left")
        maps[-1].set_xticks(range(before), map(tick_label, seen.attribution.inputs), rotation=90)
        maps[-1].set_yticks(range(len(labels)), labels)


@drawing_of.register
def draw_series_attribution(seen: SeriesAttributionView) -> Drawing:
    """Each forecast with its past, and below it what mattered at each step of it."""
    labels = tuple(map(tick_label, (*seen.attribution.target, *seen.columns)))
    return Drawing(labels, partial(_fill_series, seen), 120)


def _fill_series(seen: SeriesAttributionView, figure: "Figure", labels: Sequence[str]) -> None:
    """For each forecast its line, and below it each look as a strip over the same steps."""
    shown, count = min(MOST_COLUMNS, len(seen.attribution.target)), len(seen.attribution.target)
    columns, strip = labels[count:], 0.2 * len(labels[count:])
    tall = [0.2] * (seen.attention is not None) + [strip] * len(seen.attribution.tables())
    figure.set_size_inches(9, shown * (1.7 + sum(tall) + 0.3 * len(tall)))
    figure.set_layout_engine("constrained")
    ratios = [1.3, *tall] * shown
    grid = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios).reshape(shown, -1)
    for number, (line, *strips) in enumerate(grid):
        _draw_line(line, seen, number, labels[number])
        if seen.attention is not None:
            _draw_strip(strips.pop(0), ATTENTION_TITLE, seen.attention[None], ("weight",))
        for axes, (name, table) in zip(strips, seen.attribution.tables().items(), strict=True):
            cells = table[number].reshape(len(seen.past), -1).T
            _draw_strip(axes, METHODS[name], cells, columns)
    grid[-1][-1].set_xlabel("steps from the first that is forecast", fontsize=8)
    grid[0][0].set_xlim(-len(seen.past) - 0.5, len(seen.forecast) - 0.5)


def _draw_line(axes: "Axes", seen: SeriesAttributionView, number: int, label: str) -> None:
    """The past of a column and its forecast."""
    steps, (past, ahead) = len(seen.past), (seen.past[:, number], seen.forecast[:, number])
    axes.plot(range(-steps, 0), past, color=GREY, lw=1.2, label="past")
    axes.plot(
        range(-1, len(ahead)), [past[-1], *ahead], color=BLUE, lw=1.6, label="forecast", zorder=0
    )
    axes.set_title(output_label(seen.attribution, label, number), fontsize=10, loc="left")
    axes.legend(
        frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=2,
        borderaxespad=0.2,
    )  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _draw_strip(axes: "Axes", name: str, cells: np.ndarray, rows: Sequence[str]) -> None:
    """A look at each step of the past, a row for each column that is read."""
    most = largest_magnitude(cells)
    extent = (-cells.shape[1] - 0.5, -0.5, len(rows) - 0.5, -0.5)
    axes.imshow(cells, cmap=MAP, vmin=-most, vmax=most, aspect="auto", extent=extent)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(name, fontsize=8, pad=2, loc="left")
    frame_axes(axes, 7)
