"""Numeric sources: their parts, and attention and attribution over them (S3.4, S3.5, S9).

A part is a number of a vector, a column of a series at one step, a cell of a picture's grid, or
some bands of a recording over some time.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqloom.display import Displayed
from seqloom.explanations.attention_map import AttentionMap
from seqloom.explanations.parts import picture_front_end
from seqloom.explanations.plain_values import round_values
from seqloom.fields import (
    Field,
    Items,
    Numbers,
    Pixels,
    SeriesField,
    Values,
    VectorSequenceField,
)
from seqloom.fields.sounds import SoundField
from seqloom.model.front_ends import MAX_BRIGHTNESS
from seqloom.prediction import Predictor

if TYPE_CHECKING:
    from seqloom.explanations.attribution import Attribution

__all__ = [
    "AttributionView",
    "FeatureGroups",
    "MediaAttention",
    "PictureAttention",
    "PictureAttributionView",
    "SeriesAttributionView",
    "SeriesGroups",
    "SoundAttention",
    "SoundAttributionView",
    "VideoAttention",
    "group_features",
    "is_media",
]

MOST_CELLS = 12  # on the longer side of a picture
MOST_SEGMENTS, MOST_BANDS = 30, 8  # of a recording
MOST_STEPS = 128  # of a sequence of vectors


@dataclass(frozen=True, eq=False)
class PictureAttention(Displayed):
    """The weight of each output token over the cells of a grid on a picture.

    Xu et al. 2015, Show, Attend and Tell.
    """

    picture: np.ndarray  # (H, W, C), 0 to 255
    target: tuple[str, ...]
    weights: np.ndarray  # (T, rows, columns)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the picture."""
        return {"target": list(self.target), "weights": round_values(self.weights)}


@dataclass(frozen=True, eq=False)
class SoundAttention(Displayed):
    """The weight of each output token over the frames of a recording."""

    frames: np.ndarray  # (S, C), standardized by band
    seconds: float
    attention: AttentionMap

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the frames."""
        return {"seconds": self.seconds, **self.attention.as_dict()}


@dataclass(frozen=True, eq=False)
class VideoAttention(Displayed):
    """The weight of each output token over the frames of a video."""

    frames: np.ndarray  # (F, H, W, C), 0 to 255
    attention: AttentionMap

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the frames."""
        return self.attention.as_dict()


MediaAttention = PictureAttention | SoundAttention | VideoAttention


@dataclass(frozen=True, eq=False)
class AttributionView(Displayed):
    """An attribution with its input; for symbols and vectors, with their names alone."""

    attribution: "Attribution"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return self.attribution.as_dict()


@dataclass(frozen=True, eq=False)
class PictureAttributionView(AttributionView):
    """An attribution over the cells of a picture."""

    picture: np.ndarray  # (H, W, C), 0 to 255
    grid: tuple[int, int]  # of cells
    attention: PictureAttention | None  # None without attention

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the picture."""
        return {**self.attribution.as_dict(), "grid": list(self.grid)}


@dataclass(frozen=True, eq=False)
class SoundAttributionView(AttributionView):
    """An attribution over the time and the bands of a recording."""

    frames: np.ndarray  # (S, C)
    seconds: float
    shape: tuple[int, int]  # segments of time, groups of bands
    attention: SoundAttention | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the frames."""
        return {**self.attribution.as_dict(), "seconds": self.seconds, "shape": list(self.shape)}


@dataclass(frozen=True, eq=False)
class SeriesAttributionView(AttributionView):
    """An attribution over the steps and the columns of a series."""

    past: np.ndarray  # (S, C)
    forecast: np.ndarray  # (T, C)
    columns: tuple[str, ...]  # the columns read
    attention: np.ndarray | None  # (S,), averaged over the steps ahead

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


@dataclass(frozen=True, eq=False)
class FeatureGroups:
    """Parts of a numeric source, and the baseline of each number for erasure."""

    names: tuple[str, ...]
    groups: NDArray[np.int64]  # (S, C): the part that each number belongs to
    baseline: NDArray[np.float64]  # (C,)
    shape: tuple[int, ...]  # of the table of parts
    step: float = 1_000.0  # milliseconds from one item to the next

    def attention(
        self, values: Values, target: tuple[str, ...], weights: np.ndarray
    ) -> MediaAttention:
        """Attention weights (T, S) over these parts."""
        return self._over_time(values, target, weights)

    def attribution_view(
        self, found: "Attribution", values: Values, weights: np.ndarray | None
    ) -> AttributionView:
        """An attribution over these parts, with attention weights if there are any."""
        return AttributionView(found)

    def _over_time(
        self, values: Values, target: tuple[str, ...], weights: np.ndarray
    ) -> SoundAttention:
        seconds = len(values) * self.step / 1_000
        starts = np.arange(weights.shape[1]) * seconds / weights.shape[1]
        labels = tuple(f"{start:.2f}" for start in starts)
        return SoundAttention(np.asarray(values), seconds, AttentionMap(labels, target, weights))


@dataclass(frozen=True, eq=False)
class SeriesGroups(FeatureGroups):
    """Every column of a series at every step."""

    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class SoundGroups(FeatureGroups):
    """Neighbouring bands of a recording over a short time."""

    def attribution_view(
        self, found: "Attribution", values: Values, weights: np.ndarray | None
    ) -> AttributionView:
        """An attribution over time and bands."""
        looked = None if weights is None else self._over_time(values, found.target, weights)
        shape, seconds = (self.shape[0], self.shape[1]), len(values) * self.step / 1_000
        return SoundAttributionView(found, np.asarray(values), seconds, shape, looked)


@dataclass(frozen=True, eq=False)
class PictureGroups(FeatureGroups):
    """The cells of a grid on each frame of a picture or a video."""

    frames: np.ndarray | None = None  # (F, H, W, C), 0 to 255
    labels: tuple[str, ...] = ()  # of the frames
    averaged: bool = True  # whether attention is to one picture, possibly the mean of the frames
    grid: Callable[[int], tuple[int, int]] = lambda cells: (1, cells)  # its shape

    def attention(
        self, values: Values, target: tuple[str, ...], weights: np.ndarray
    ) -> MediaAttention:
        """Attention over the cells of a picture or of a video's mean, or over frames."""
        if self.averaged:
            return self._over_cells(target, weights)
        frames = np.asarray(self.frames)
        each = weights.reshape(len(weights), len(frames), -1).sum(axis=2)
        return VideoAttention(frames, AttentionMap(self.labels, target, each))

    def attribution_view(
        self, found: "Attribution", values: Values, weights: np.ndarray | None
    ) -> AttributionView:
        """An attribution over the cells of one picture; for a video, in words alone."""
        frames = np.asarray(self.frames)
        if len(frames) != 1:
            return AttributionView(found)
        looked = None if weights is None else self._over_cells(found.target, weights)
        shape = self.shape[1], self.shape[2]
        return PictureAttributionView(found, frames[0], shape, looked)

    def _over_cells(self, target: tuple[str, ...], weights: np.ndarray) -> PictureAttention:
        cells = weights.reshape(-1, *self.grid(weights.shape[1]))
        return PictureAttention(np.asarray(self.frames).mean(axis=0), target, cells)


def group_features(model: Predictor, values: Values) -> FeatureGroups | None:
    """The parts of an input; None if its symbols are its parts."""
    return _group_field(model.source, model, values)


@singledispatch
def _group_field(field: Field, model: Predictor, values: Values) -> FeatureGroups | None:
    """The parts by type of field, or else by its items."""
    return _group_items(field.items, model, values)


@singledispatch
def _group_items(items: Items, model: Predictor, values: Values) -> FeatureGroups | None:
    """None for symbols, which are parts themselves."""
    return None


@_group_items.register
def _group_numbers(items: Numbers, model: Predictor, values: Values) -> FeatureGroups:
    names = tuple(f"x{number}" for number in range(1, values.shape[1] + 1))
    return FeatureGroups(names, *_each_number(values))


@_group_field.register
def _group_steps(field: VectorSequenceField, model: Predictor, values: Values) -> FeatureGroups:
    """One part per step, or per group of neighbouring steps if there are many."""
    steps, count = values.shape
    long = math.ceil(steps / MOST_STEPS)
    across = np.arange(steps) // long
    begins = range(0, steps, long)
    names = tuple(field.tokens(values)) if long == 1 else tuple(f"step {n + 1}" for n in begins)
    groups = np.repeat(across[:, None], count, axis=1)
    return FeatureGroups(names, groups, np.zeros(count), (len(names),))


@_group_field.register
def _group_series(field: SeriesField, model: Predictor, values: Values) -> SeriesGroups:
    steps = len(values)
    names = tuple(f"{name} {step - steps}" for step in range(steps) for name in field.names)
    return SeriesGroups(names, *_each_number(values), columns=field.names)


def _each_number(values: Values) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[int, int]]:
    """One part per number, with baseline 0."""
    steps, count = values.shape
    return np.arange(values.size).reshape(steps, count), np.zeros(count), (steps, count)


@_group_items.register
def _group_pixels(items: Pixels, model: Any, values: Values) -> PictureGroups:
    """Square cells on each picture, MOST_CELLS on the longer side.

    Zeiler and Fergus 2014, Visualizing and Understanding Convolutional Networks (occlusion).
    """
    count = len(values)
    side = math.ceil(max(items.height, items.width) / MOST_CELLS)
    down, across = np.arange(items.height) // side, np.arange(items.width) // side
    rows, columns = int(down[-1]) + 1, int(across[-1]) + 1
    shape = items.channels, items.height, items.width
    cells = np.broadcast_to(down[:, None] * columns + across, shape).reshape(-1)
    groups = np.arange(count)[:, None] * rows * columns + cells
    place = "row {} column {}" if count == 1 else "row {} column {} of frame {}"
    names = tuple(
        place.format(row + 1, column + 1, frame + 1)
        for frame in range(count)
        for row in range(rows)
        for column in range(columns)
    )
    front = picture_front_end(model.network)
    light = (0.5,) if front is None else front.pictures.light.mean
    if len(light) != items.channels:  # one brightness for all colours, or a colour's for grey
        light = (sum(light) / len(light),) * items.channels
    return PictureGroups(
        names,
        groups,
        np.repeat(MAX_BRIGHTNESS * np.array(light), items.height * items.width),
        (count, rows, columns),
        frames=np.asarray(values).reshape(-1, *shape).transpose(0, 2, 3, 1),
        labels=tuple(model.source.tokens(values)),
        averaged=items.frames == 1 or front is None or front.mean,
        grid=model.network.encoder.grid_shape,
    )


@_group_field.register
def _group_sound(field: SoundField, model: Predictor, values: Values) -> SoundGroups:
    """Groups of neighbouring bands over a short time, with mean loudness as baseline."""
    frames, bands = values.shape
    long, wide = math.ceil(frames / MOST_SEGMENTS), math.ceil(bands / MOST_BANDS)
    across, up = np.arange(frames) // long, np.arange(bands) // wide
    count, step = int(up[-1]) + 1, field.config.step
    begins = [number * long * step / 1_000 for number in range(int(across[-1]) + 1)]
    names = tuple(
        f"{begin:.2f} s bands {band * wide + 1}-{min(bands, (band + 1) * wide)}"
        for begin in begins
        for band in range(count)
    )
    groups = across[:, None] * count + up
    return SoundGroups(names, groups, np.zeros(bands), (len(begins), count), step)


@singledispatch
def is_media(field: Field) -> bool:
    """Whether a column holds pictures, sound or videos."""
    return field.items.pixels is not None


@is_media.register
def _is_sound(field: SoundField) -> bool:
    return True
