"""Pictures, recordings, videos and series, overlaid with weights."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqloom.drawing.tables import MAP, frame_axes, largest_magnitude

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "PrefixTable",
    "Recording",
    "SeriesLines",
    "fill_picture_maps",
    "fill_picture_panels",
    "fill_recording",
    "fill_recording_maps",
    "fill_series_strips",
    "fill_video",
]

ACROSS = 6  # panels per row
PANEL = 1.7  # inches
WIDEST = 3.2  # inches of the widest panel
PREFIX_TITLE = "integrated, output before"
BLUE, GREY = "#1f5fa8", "#6b6b6b"
Tables = Mapping[str, np.ndarray]
"""A table for each method, by its name in words."""


class Recording(NamedTuple):
    """The frames (S, C) of a recording, and its duration."""

    frames: np.ndarray
    seconds: float


class PrefixTable(NamedTuple):
    """The attribution of each output to each preceding output token."""

    table: np.ndarray
    names: Sequence[str]


class SeriesLines(NamedTuple):
    """The past (S, C) of some columns and their forecast (T, C), with the parts of their titles."""

    past: np.ndarray
    forecast: np.ndarray
    titles: Sequence[Callable[[str], str]]


def fill_picture_panels(
    picture: np.ndarray, cells: np.ndarray, figure: "Figure", labels: Sequence[str]
) -> None:
    """Draw the picture once per label, bright where its cells (rows, columns) are large."""
    height, width = picture.shape[:2]
    across = max(1, min(len(labels), round(ACROSS * min(1.0, 2 * height / width))))
    down = math.ceil(len(labels) / across)
    wide = min(WIDEST, PANEL * max(1.0, width / height))
    figure.set_size_inches(across * wide, down * (wide * height / width + 0.3))
    figure.set_layout_engine("constrained")
    grey = picture.mean(axis=2)
    grid = figure.subplots(down, across, squeeze=False).flatten()
    for axes in grid:
        axes.set_axis_off()
    for axes, label, weights in zip(grid, labels, cells, strict=False):
        extent = (0, width, height, 0)
        axes.imshow(grey, cmap="gray", vmin=0, vmax=255, extent=extent)
        axes.imshow(
            weights, cmap="inferno", extent=extent, alpha=0.6, vmin=0, interpolation="bilinear"
        )
        axes.set_title(label, fontsize=9, pad=3)


def fill_recording(
    recording: Recording, weights: np.ndarray, figure: "Figure", labels: Sequence[str]
) -> None:
    """Draw the bands over time, and below them the weights of each label."""
    frames, seconds = recording
    figure.set_size_inches(max(5.0, min(14.0, 3 * seconds)), 1.6 + 0.19 * len(labels))
    figure.set_layout_engine("constrained")
    heard, looked = figure.subplots(2, 1, sharex=True, height_ratios=[1.4, 0.19 * len(labels)])
    bands = (0.0, seconds, 0.0, float(frames.shape[1]))
    heard.imshow(frames.T, cmap="magma", origin="lower", aspect="auto", extent=bands)
    heard.set_ylabel("mel band", fontsize=8)
    rows = (0.0, seconds, len(labels) - 0.5, -0.5)
    looked.imshow(weights, cmap="Blues", vmin=0, aspect="auto", extent=rows)
    looked.set_yticks(range(len(labels)), labels)
    looked.set_xlabel("seconds", fontsize=8)
    for axes in (heard, looked):
        axes.tick_params(length=0, labelsize=8)
        axes.spines[:].set_color("0.8")


def fill_video(
    frames: np.ndarray, weights: np.ndarray, figure: "Figure", labels: Sequence[str]
) -> None:
    """Draw the frames in a strip, and below each its weight for each label."""
    count, height, width = frames.shape[:3]
    side = min(1.3, 14.0 / count)  # inches per frame
    strip, table = side * height / width, 0.19 * len(labels)
    figure.set_size_inches(max(5.0, side * count + 1.2), strip + table + 0.5)
    figure.set_layout_engine("constrained")
    shown, looked = figure.subplots(2, 1, sharex=True, height_ratios=[strip, table])
    for number, frame in enumerate(frames):
        plain = np.broadcast_to(frame, (height, width, 3))
        left, right = number + 0.53, number + 1.47
        shown.imshow(plain, extent=(left, right, 0.0, 1.0), aspect="auto")
        shown.plot([left, right, right, left, left], [0, 0, 1, 1, 0], color="0.7", lw=0.8)
    shown.set_ylim(-0.01, 1.01)
    shown.set_axis_off()
    rows = (0.5, count + 0.5, len(labels) - 0.5, -0.5)
    looked.imshow(weights, cmap="Blues", vmin=0, aspect="auto", extent=rows)
    looked.set_xlim(0.5, count + 0.5)
    looked.set_xticks(range(1, count + 1, max(1, count // 16)))
    looked.set_yticks(range(len(labels)), labels)
    looked.set_xlabel("frame", fontsize=8)
    looked.tick_params(length=0, labelsize=8)
    looked.spines[:].set_color("0.8")


def fill_picture_maps(
    picture: np.ndarray,
    tables: Tables,
    prefix: PrefixTable | None,
    figure: "Figure",
    labels: Sequence[str],
) -> None:
    """Draw a row of pictures per label, with a column per table, then the prefix."""
    height, width = picture.shape[:2]
    columns = len(tables) + (prefix is not None)
    wide = 1.7 * min(1.6, max(1.0, width / height))
    size = columns * wide + 0.4, len(labels) * (wide * height / width + 0.1) + 0.6
    figure.set_size_inches(*size)
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(labels), columns, squeeze=False)
    for row, label in enumerate(labels):
        for axes, table in zip(grid[row], tables.values(), strict=False):
            _draw_cells(axes, picture, table[row], largest_magnitude(table))
        grid[row][0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=9)
    for axes, name in zip(grid[0], tables, strict=False):
        axes.set_title(name, fontsize=9, pad=3)
    if prefix is not None:
        table, names = prefix
        for row, axes in enumerate(grid[:, -1]):
            _draw_prefix(axes, table[row : row + 1], largest_magnitude(table))
        grid[0][-1].set_title(PREFIX_TITLE, fontsize=9, pad=3)
        grid[-1][-1].set_xticks(range(len(names)), names, rotation=90)


def _draw_cells(axes: "Axes", picture: np.ndarray, cells: np.ndarray, most: float) -> None:
    """Draw cells over the faded picture, with opacity by their weight."""
    height, width = picture.shape[:2]
    extent = (0, width, height, 0)
    axes.imshow(picture.mean(axis=2), cmap="gray", vmin=-120, vmax=255, extent=extent)
    strength = np.abs(cells) / most
    axes.imshow(
        cells, cmap=MAP, vmin=-most, vmax=most, extent=extent, alpha=0.85 * np.sqrt(strength)
    )
    axes.set_xticks([])
    axes.set_yticks([])
    frame_axes(axes, 8)


def _draw_prefix(axes: "Axes", cells: np.ndarray, most: float) -> None:
    """Draw the attribution to each preceding token."""
    axes.imshow(cells, cmap=MAP, vmin=-most, vmax=most, aspect="auto")
    axes.set_xticks([])
    axes.set_yticks([])
    frame_axes(axes, 7)


def fill_recording_maps(
    recording: Recording,
    tables: Tables,
    prefix: PrefixTable | None,
    figure: "Figure",
    labels: Sequence[str],
) -> None:
    """Draw the bands over time, then for each table a map of the labels over time."""
    frames, seconds = recording
    tall = max(0.35, 0.17 * len(labels))
    count = len(tables) + (prefix is not None)
    figure.set_size_inches(max(5.0, min(14.0, 3 * seconds)), 1.6 + count * (tall + 0.35))
    figure.set_layout_engine("constrained")
    heard, *maps = figure.subplots(1 + count, 1, height_ratios=[1.3, *[tall] * count])
    bands = (0.0, seconds, 0.0, float(frames.shape[1]))
    heard.imshow(frames.T, cmap="magma", origin="lower", aspect="auto", extent=bands)
    heard.set_ylabel("mel band", fontsize=8)
    for axes, (name, table) in zip(maps, tables.items(), strict=False):
        most = largest_magnitude(table)
        rows = (0.0, seconds, len(labels) - 0.5, -0.5)
        axes.imshow(table, cmap=MAP, vmin=-most, vmax=most, aspect="auto", extent=rows)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_title(name, fontsize=9, pad=3, loc="left")
    for axes in (heard, *maps):
        frame_axes(axes, 7.5)
    for axes in (heard, *maps[: len(tables) - 1]):
        axes.set_xticklabels([])
    maps[len(tables) - 1].set_xlabel("seconds", fontsize=8)
    if prefix is not None:
        table, names = prefix
        _draw_prefix(maps[-1], table, largest_magnitude(table))
        maps[-1].set_title(PREFIX_TITLE, fontsize=9, pad=3, loc="left")
        maps[-1].set_xticks(range(len(names)), names, rotation=90)
        maps[-1].set_yticks(range(len(labels)), labels)


def fill_series_strips(
    lines: SeriesLines,
    strips: Sequence[Tables],
    weights: Tables,
    figure: "Figure",
    labels: Sequence[str],
) -> None:
    """Draw a line for each of the first columns, and below it strips over the same steps.

    The strips of `weights` (1, S) are common to all; others have a row per column read. Labels are
    of the forecast columns, then of the columns read.
    """
    shown, count = len(strips), lines.forecast.shape[1]
    titles = [title(label) for title, label in zip(lines.titles, labels, strict=False)]
    columns = labels[count:]
    tall = [0.2] * len(weights) + [0.2 * len(columns)] * len(strips[0])
    figure.set_size_inches(9, shown * (1.7 + sum(tall) + 0.3 * len(tall)))
    figure.set_layout_engine("constrained")
    ratios = [1.3, *tall] * shown
    grid = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios).reshape(shown, -1)
    for number, (line, *below) in enumerate(grid):
        _draw_line(line, lines, number, titles[number])
        for axes, (name, cells) in zip(below, weights.items(), strict=False):
            _draw_strip(axes, name, cells, ("weight",))
        for axes, (name, cells) in zip(below[len(weights) :], strips[number].items(), strict=True):
            _draw_strip(axes, name, cells, columns)
    grid[-1][-1].set_xlabel("steps from the first that is forecast", fontsize=8)
    grid[0][0].set_xlim(-len(lines.past) - 0.5, len(lines.forecast) - 0.5)


def _draw_line(axes: "Axes", lines: SeriesLines, number: int, title: str) -> None:
    """Draw the past of a column and its forecast."""
    steps, (past, ahead) = len(lines.past), (lines.past[:, number], lines.forecast[:, number])
    axes.plot(range(-steps, 0), past, color=GREY, lw=1.2, label="past")
    axes.plot(
        range(-1, len(ahead)), [past[-1], *ahead], color=BLUE, lw=1.6, label="forecast", zorder=0
    )
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(
        frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=2,
        borderaxespad=0.2,
    )  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _draw_strip(axes: "Axes", name: str, cells: np.ndarray, rows: Sequence[str]) -> None:
    """Draw a table over the steps of the past."""
    most = largest_magnitude(cells)
    extent = (-cells.shape[1] - 0.5, -0.5, len(rows) - 0.5, -0.5)
    axes.imshow(cells, cmap=MAP, vmin=-most, vmax=most, aspect="auto", extent=extent)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(name, fontsize=8, pad=2, loc="left")
    frame_axes(axes, 7)
