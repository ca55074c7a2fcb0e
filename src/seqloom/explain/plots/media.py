"""Attention and attribution over pictures, recordings, videos and series."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.media import (
    PrefixTable,
    Recording,
    SeriesLines,
    fill_picture_maps,
    fill_picture_panels,
    fill_recording,
    fill_recording_maps,
    fill_series_strips,
    fill_video,
)
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.attention import render_text
from seqloom.explain.plots.attribution import output_label
from seqloom.explain.plots.terminal import terminal_label
from seqloom.explanations.attribution import METHODS, Attribution
from seqloom.explanations.media import (
    PictureAttention,
    PictureAttributionView,
    SeriesAttributionView,
    SoundAttention,
    SoundAttributionView,
    VideoAttention,
)
from seqloom.explanations.plain_values import tick_label

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

MOST_COLUMNS = 4  # forecast columns drawn
ATTENTION_TITLE = "attention, in the mean over the steps ahead"


@text_of.register
def picture_text(seen: PictureAttention, width: int = 80) -> str:
    """The cell with the largest weight for each token, counted from the upper left."""
    lines = []
    for token, weights in zip(seen.target, seen.weights, strict=True):
        row, column = np.unravel_index(weights.argmax(), weights.shape)
        most = f"row {row + 1}, column {column + 1} ({weights.max():.2f})"
        lines.append(f"{terminal_label(token)}\t{most}".expandtabs(16)[:width])
    rows, columns = seen.weights.shape[1:]
    return "\n".join([*lines, f"of a grid of {rows} rows and {columns} columns"])


@drawing_of.register
def draw_picture(seen: PictureAttention) -> Drawing:
    """Draw the picture once for each token, bright where its weights are large."""
    fill = partial(fill_picture_panels, seen.picture, seen.weights)
    return Drawing(_labels(seen.target), fill, 130, shows_media=True)


@text_of.register
def sound_text(seen: SoundAttention, width: int = 80) -> str:
    """A heat map of shade blocks over time."""
    return render_text(seen.attention, width)


@drawing_of.register
def draw_sound(seen: SoundAttention) -> Drawing:
    """The bands over time, and below them the weights of each token over the same time."""
    recording = Recording(seen.frames, seen.seconds)
    fill = partial(fill_recording, recording, seen.attention.weights)
    return Drawing(_labels(seen.attention.target), fill, 130, shows_media=True)


@text_of.register
def video_text(seen: VideoAttention, width: int = 80) -> str:
    """A heat map of shade blocks over frames."""
    return render_text(seen.attention, width)


@drawing_of.register
def draw_video(seen: VideoAttention) -> Drawing:
    """The frames in a strip, and below each its weight for each token."""
    fill = partial(fill_video, seen.frames, seen.attention.weights)
    return Drawing(_labels(seen.attention.target), fill, 130, shows_media=True)


@drawing_of.register
def draw_picture_attribution(seen: PictureAttributionView) -> Drawing:
    """The picture for each output and each method."""
    found = seen.attribution
    tables = {name: t.reshape(-1, *seen.grid) for name, t in _over_source(found).items()}
    if seen.attention is not None:
        tables = {"attention": seen.attention.weights, **tables}
    fill = partial(fill_picture_maps, seen.picture, tables, _prefix(found))
    return Drawing(_labels(found.target), fill, 130, shows_media=True)


@drawing_of.register
def draw_sound_attribution(seen: SoundAttributionView) -> Drawing:
    """The bands over time, and below them each method over the same time."""
    found = seen.attribution
    tables = {
        name: table.reshape(len(found.target), *seen.shape).sum(axis=2)
        for name, table in _over_source(found).items()
    }
    if seen.attention is not None:
        tables = {"attention": seen.attention.attention.weights, **tables}
    recording = Recording(seen.frames, seen.seconds)
    fill = partial(fill_recording_maps, recording, tables, _prefix(found))
    return Drawing(_labels(found.target), fill, 130, shows_media=True)


@drawing_of.register
def draw_series_attribution(seen: SeriesAttributionView) -> Drawing:
    """Draw each forecast with its past, and below it the attribution to each step."""
    found = seen.attribution
    weights = {} if seen.attention is None else {ATTENTION_TITLE: seen.attention[None]}
    strips = [
        {METHODS[n]: t[row].reshape(len(seen.past), -1).T for n, t in found.tables().items()}
        for row in range(min(MOST_COLUMNS, len(found.target)))
    ]
    titles = [partial(output_label, found, row) for row in range(len(found.target))]
    lines = SeriesLines(seen.past, seen.forecast, titles)
    fill = partial(fill_series_strips, lines, strips, weights)
    return Drawing(_labels((*found.target, *seen.columns)), fill, 120)


def _labels(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(tick_label, names))


def _over_source(found: Attribution) -> dict[str, np.ndarray]:
    """The methods except attention by display name, over the source alone."""
    return {
        METHODS[name]: table[:, : len(found.source)]
        for name, table in found.tables().items()
        if name != "attention"
    }


def _prefix(found: Attribution) -> PrefixTable | None:
    """Integrated gradients of the preceding output, if the model reads it."""
    if not found.inputs:
        return None
    return PrefixTable(found.integrated[:, len(found.source) :], _labels(found.inputs))
