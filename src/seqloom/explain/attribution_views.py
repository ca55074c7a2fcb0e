"""What mattered, drawn over what was read: symbols, a picture, a recording, a series (S9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.tables import MAP, fill_rows, fill_tables, frame_axes, largest_magnitude
from seqloom.explain.attention_heads import cross_map
from seqloom.explain.attention_map import round_values, tick_label
from seqloom.explain.attribution import METHODS, Attribution, compute_attribution, future_mask
from seqloom.explain.explained_output import Cell, ExplainedForecast, output_to_explain
from seqloom.explain.media_attention import (
    MediaAttention,
    PictureAttention,
    SoundAttention,
    attention_from_trace,
)
from seqloom.explain.tracing import Trace, trace_output
from seqloom.fields import Pixels
from seqloom.fields.sounds import SoundField
from seqloom.prediction import Forecaster, Output, Predictor, TextPredictor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "AttributionView",
    "PictureAttributionView",
    "SeriesAttributionView",
    "SoundAttributionView",
    "attribution_view",
]

MOST_COLUMNS = 4  # of a forecast that are drawn
PREFIX_TITLE = "integrated, output before"
ATTENTION_TITLE = "attention, in the mean over the steps ahead"
BLUE, GREY = "#1f5fa8", "#6b6b6b"


@dataclass(frozen=True, eq=False)
class AttributionView:
    """What mattered, as numbers and words; symbols and vectors are drawn as tables."""

    attribution: Attribution

    def over_source(self) -> dict[str, np.ndarray]:
        """The looks but attention by their names in words, over the source alone."""
        return {
            METHODS[name]: table[:, : len(self.attribution.source)]
            for name, table in self.attribution.tables().items()
            if name != "attention"
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return self.attribution.as_dict()

    def text(self, width: int = 80) -> str:
        """The weightiest parts of each look."""
        return self.attribution.text(width)

    def drawing(self) -> Drawing:
        """A map for each look, side by side; blue speaks for what is said, red against it."""
        found = self.attribution
        labels = tuple(map(tick_label, (*found.source, *found.inputs, *found.target)))
        return Drawing(labels, partial(_fill_symbols, found), 110)


@dataclass(frozen=True, eq=False)
class PictureAttributionView(AttributionView):
    """The same over the cells of a picture."""

    picture: np.ndarray  # (H, W, C), 0 to 255
    grid: tuple[int, int]  # of cells
    attention: PictureAttention | None  # where the model has any

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the picture is left out."""
        return {**self.attribution.as_dict(), "grid": list(self.grid)}

    def drawing(self) -> Drawing:
        """The picture for each thing that is said and each look."""
        return Drawing(
            tuple(map(tick_label, self.attribution.target)), partial(_fill_pictures, self), 130
        )


@dataclass(frozen=True, eq=False)
class SoundAttributionView(AttributionView):
    """The same over the time and the bands of a recording."""

    frames: np.ndarray  # (S, C)
    seconds: float
    shape: tuple[int, int]  # stretches of time, groups of bands
    attention: SoundAttention | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the frames are left out."""
        return {**self.attribution.as_dict(), "seconds": self.seconds, "shape": list(self.shape)}

    def drawing(self) -> Drawing:
        """The bands over time, and below them each look over the same time."""
        return Drawing(
            tuple(map(tick_label, self.attribution.target)), partial(_fill_sound, self), 130
        )


@dataclass(frozen=True, eq=False)
class SeriesAttributionView(AttributionView):
    """The same over the steps and the columns of a series."""

    past: np.ndarray  # (S, C)
    forecast: np.ndarray  # (T, C)
    columns: tuple[str, ...]  # that are read
    attention: np.ndarray | None  # (S,), in the mean over the steps ahead

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the past and the forecast."""
        lines = {"past": self.past.tolist(), "forecast": self.forecast.tolist()}
        looked = None if self.attention is None else round_values(self.attention)
        return {
            **self.attribution.as_dict(),
            "attention": looked,
            "columns": list(self.columns),
            **lines,
        }

    def drawing(self) -> Drawing:
        """Each forecast with its past, and below it what mattered at each step of it."""
        labels = tuple(map(tick_label, (*self.attribution.target, *self.columns)))
        return Drawing(labels, partial(_fill_series, self), 120)


def attribution_view(
    model: Predictor, cell: Cell, output: Output | str | None = None
) -> AttributionView:
    """All looks at one input, with what the model says of it or with this."""
    said = output_to_explain(model, cell, output)
    passed = trace_output(model.network, said)
    found = compute_attribution(model.network, said, passed)
    items = model.source.items
    if isinstance(model, Forecaster):
        return _series_view(found, passed, model)
    if said.feature_groups is None:
        return AttributionView(found)
    if isinstance(items, Pixels) and len(said.values) == 1:
        picture = said.values[0].reshape(items.channels, items.height, items.width)
        looked = _media_attention(model, passed)
        return PictureAttributionView(
            found,
            picture.transpose(1, 2, 0),
            (said.feature_groups.shape[1], said.feature_groups.shape[2]),
            looked if isinstance(looked, PictureAttention) else None,
        )
    if isinstance(model.source, SoundField):
        looked = _media_attention(model, passed)
        return SoundAttributionView(
            found,
            np.asarray(said.values),
            len(said.values) * model.source.config.step / 1_000,
            (said.feature_groups.shape[0], said.feature_groups.shape[1]),
            looked if isinstance(looked, SoundAttention) else None,
        )
    return AttributionView(found)


def _series_view(found: Attribution, passed: Trace, model: Forecaster) -> SeriesAttributionView:
    said = passed.output
    if not isinstance(said, ExplainedForecast) or said.past is None or said.forecast is None:
        raise TypeError("a forecast is looked at with its past")
    looked = cross_map(passed)
    weights = None if looked is None else looked.weights.mean(axis=0)
    return SeriesAttributionView(found, said.past, said.forecast, model.source.names, weights)


def _media_attention(model: Predictor, passed: Trace) -> MediaAttention | None:
    """Attention beside, where there is any to the source."""
    if not isinstance(model, TextPredictor) or cross_map(passed) is None:
        return None
    return attention_from_trace(model, passed)


def _fill_symbols(found: Attribution, figure: "Figure", labels: Sequence[str]) -> None:
    count = len(found.source) + len(found.inputs)
    columns, rows = labels[:count], labels[count:]
    if len(found.target) == 1:
        tables = {METHODS[name]: table for name, table in found.tables().items()}
        fill_rows(figure, tables, columns, _output_label(found, rows[0], 0))
        return
    hidden = future_mask(found)
    tables = {
        METHODS[name]: np.ma.masked_where(hidden, table) for name, table in found.tables().items()
    }
    fill_tables(figure, tables, columns, rows, source=len(found.source))


def _output_label(found: Attribution, label: str, row: int) -> str:
    """What is said, and how large it is."""
    value = found.scores[row]
    if found.is_log_probability:
        return f"{label}  p {np.exp(value):.3f}"
    return label if label == f"{value:.6g}" else f"{label}  {found.quantity} {value:.4g}"


def _fill_pictures(seen: PictureAttributionView, figure: "Figure", labels: Sequence[str]) -> None:
    """A row of pictures for each thing that is said, a column for each look; then the prefix."""
    height, width = seen.picture.shape[:2]
    tables = {name: t.reshape(-1, *seen.grid) for name, t in seen.over_source().items()}
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


def _fill_sound(seen: SoundAttributionView, figure: "Figure", labels: Sequence[str]) -> None:
    """The spectrum, then a map of what is said over time for each look."""
    tables = {
        name: table.reshape(len(labels), *seen.shape).sum(axis=2)
        for name, table in seen.over_source().items()
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
    axes.set_title(_output_label(seen.attribution, label, number), fontsize=10, loc="left")
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
