"""The parts of an input that can matter on their own, where it is numbers and not symbols.

A vector has a part for each number, a series one for each column at each step, a picture one for
each cell of a grid, a recording one for some bands over some time.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.fields import Field, Numbers, Pixels, SeriesField, Values
from seqloom.fields.sounds import SoundField
from seqloom.model.front_ends import MAX_BRIGHTNESS, FrontEndEncoder, PictureFrontEnd
from seqloom.prediction import Predictor

__all__ = ["FeatureGroups", "group_features"]

MOST_CELLS = 12  # on the longer side of a picture
MOST_SEGMENTS, MOST_BANDS = 30, 8  # of a recording


class FeatureGroups(NamedTuple):
    """Parts of a source of numbers, and what each number is where its part is taken away."""

    names: tuple[str, ...]
    groups: NDArray[np.int64]  # (S, C): the part that each number belongs to
    baseline: NDArray[np.float64]  # (C,)
    shape: tuple[int, ...]  # in which the parts lie


def group_features(model: Predictor, values: Values) -> FeatureGroups | None:
    """The parts of an input; None where its symbols are its parts."""
    field, items = model.source, model.source.items
    if isinstance(items, Pixels):
        return _picture_cells(items, len(values), _neutral_light(model, items))
    if not isinstance(items, Numbers):
        return None
    if isinstance(field, SoundField):
        return _time_band_groups(field, values)
    steps, count = values.shape
    names = _column_names(field, count)
    if isinstance(field, SeriesField):
        names = tuple(f"{name} {step - steps}" for step in range(steps) for name in names)
    groups = np.arange(values.size).reshape(steps, count)
    return FeatureGroups(names, groups, np.zeros(count), (steps, count))


def _column_names(field: Field, count: int) -> tuple[str, ...]:
    """What the numbers of an item are called."""
    if isinstance(field, SeriesField):
        return field.names
    return tuple(f"x{number}" for number in range(1, count + 1))


def _picture_cells(items: Pixels, frames: int, middle: NDArray[np.float64]) -> FeatureGroups:
    """A grid of squares, so many on the longer side, over each picture."""
    side = math.ceil(max(items.height, items.width) / MOST_CELLS)
    down, across = np.arange(items.height) // side, np.arange(items.width) // side
    rows, columns = int(down[-1]) + 1, int(across[-1]) + 1
    cells = np.broadcast_to(
        down[:, None] * columns + across, (items.channels, items.height, items.width)
    ).reshape(-1)
    groups = np.arange(frames)[:, None] * rows * columns + cells
    place = "row {} column {}" if frames == 1 else "row {} column {} of frame {}"
    names = tuple(
        place.format(row + 1, column + 1, frame + 1)
        for frame in range(frames)
        for row in range(rows)
        for column in range(columns)
    )
    return FeatureGroups(names, groups, middle, (frames, rows, columns))


def _neutral_light(model: Predictor, items: Pixels) -> NDArray[np.float64]:
    """The light that the front end reads as nothing."""
    encoder = model.network.encoder
    front = encoder.front if isinstance(encoder, FrontEndEncoder) else None
    means = (0.5,) * items.channels
    if isinstance(front, PictureFrontEnd):
        means = front.pictures.light.mean
    return np.repeat(MAX_BRIGHTNESS * np.array(means), items.height * items.width)


def _time_band_groups(field: SoundField, values: Values) -> FeatureGroups:
    """Some neighbouring bands over a short time, which is all as loud as in the mean."""
    frames, bands = values.shape
    long, wide = math.ceil(frames / MOST_SEGMENTS), math.ceil(bands / MOST_BANDS)
    across, up = np.arange(frames) // long, np.arange(bands) // wide
    count = int(up[-1]) + 1
    begins = [number * long * field.config.step / 1_000 for number in range(int(across[-1]) + 1)]
    names = tuple(
        f"{begin:.2f} s bands {band * wide + 1}-{min(bands, (band + 1) * wide)}"
        for begin in begins
        for band in range(count)
    )
    groups = across[:, None] * count + up
    return FeatureGroups(names, groups, np.zeros(bands), (len(begins), count))
