"""Where the decoder looked in a picture, a recording or a video (S9, S3.4, S3.5)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.explain.attention_heads import Attentions
from seqloom.explain.attention_map import (
    AttentionMap,
    render_text,
    round_values,
    terminal_label,
    tick_label,
)
from seqloom.explain.explained_output import Cell, text_to_explain
from seqloom.explain.tracing import Trace, trace_output
from seqloom.fields import Field, Pixels
from seqloom.fields.sounds import SoundField
from seqloom.model.front_ends import FrontEndEncoder, PictureFrontEnd
from seqloom.prediction import TextPredictor, grid_shape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "MediaAttention",
    "PictureAttention",
    "SoundAttention",
    "VideoAttention",
    "attention_from_trace",
    "attention_over_media",
    "is_media",
]

ACROSS = 6  # panels in a row
PANEL = 1.7  # inches
WIDEST = 3.2  # inches of a panel


@dataclass(frozen=True, eq=False)
class PictureAttention:
    """The weight that each output token gave to each cell of a grid over a picture."""

    picture: np.ndarray  # (H, W, C), 0 to 255
    target: tuple[str, ...]
    weights: np.ndarray  # (T, rows, columns)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the picture is left out."""
        return {"target": list(self.target), "weights": round_values(self.weights)}

    def text(self, width: int = 80) -> str:
        """The cell that each token looked at most, counted from the upper left."""
        lines = []
        for token, weights in zip(self.target, self.weights, strict=True):
            row, column = np.unravel_index(weights.argmax(), weights.shape)
            most = f"row {row + 1}, column {column + 1} ({weights.max():.2f})"
            lines.append(f"{terminal_label(token)}\t{most}".expandtabs(16)[:width])
        rows, columns = self.weights.shape[1:]
        return "\n".join([*lines, f"of a grid of {rows} rows and {columns} columns"])

    def drawing(self) -> Drawing:
        """The picture once for each token, bright where it looked."""
        return Drawing(tuple(map(tick_label, self.target)), partial(_fill_pictures, self), 130)


@dataclass(frozen=True, eq=False)
class SoundAttention:
    """The weight that each output token gave to each stretch of a recording."""

    frames: np.ndarray  # (S, C), each band in units of its spread
    seconds: float
    attention: AttentionMap

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the frames are left out."""
        return {"seconds": self.seconds, **self.attention.as_dict()}

    def text(self, width: int = 80) -> str:
        """A heat map of shade blocks, the time across."""
        return render_text(self.attention, width)

    def drawing(self) -> Drawing:
        """The bands over time, and below them the weights of each token over the same time."""
        return Drawing(
            tuple(map(tick_label, self.attention.target)), partial(_fill_sound, self), 130
        )


@dataclass(frozen=True, eq=False)
class VideoAttention:
    """The weight that each output token gave to each frame of a video."""

    frames: np.ndarray  # (F, H, W, C), 0 to 255
    attention: AttentionMap

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the frames are left out."""
        return self.attention.as_dict()

    def text(self, width: int = 80) -> str:
        """A heat map of shade blocks, the frames across."""
        return render_text(self.attention, width)

    def drawing(self) -> Drawing:
        """The frames in a strip, and below each its weight for each token."""
        return Drawing(
            tuple(map(tick_label, self.attention.target)), partial(_fill_video, self), 130
        )


MediaAttention = PictureAttention | SoundAttention | VideoAttention


def attention_over_media(
    model: TextPredictor,
    cell: Cell,
    output: str | None = None,
    *,
    layer: int | None = None,
    head: int | None = None,
) -> MediaAttention:
    """Where a model looks in a file while it writes its own output, or this one."""
    found = trace_output(model.network, text_to_explain(model, cell, output))
    return attention_from_trace(model, found, layer=layer, head=head)


def attention_from_trace(
    model: TextPredictor, found: Trace, *, layer: int | None = None, head: int | None = None
) -> MediaAttention:
    """The same for a pass that was made; ConfigError where it noted no such look."""
    said, weights = (
        found.output,
        Attentions.from_trace(found).select_map(layer=layer, head=head).weights,
    )
    row = said.values
    if isinstance(model.source.items, Pixels):
        return _attention_over_frames(model, np.asarray(row), said.target, weights)
    step = model.source.config.step if isinstance(model.source, SoundField) else 1_000.0
    seconds = len(row) * step / 1_000
    starts = np.arange(weights.shape[1]) * seconds / weights.shape[1]
    labels = tuple(f"{start:.2f}" for start in starts)
    return SoundAttention(np.asarray(row), seconds, AttentionMap(labels, said.target, weights))


def _attention_over_frames(
    model: TextPredictor, row: np.ndarray, names: tuple[str, ...], weights: np.ndarray
) -> PictureAttention | VideoAttention:
    """Weights over the cells of a picture or of a video's mean, or else over frames."""
    front = _picture_front_end(model)
    pixels = front.pictures.pixels
    shape = -1, pixels.channels, pixels.height, pixels.width
    frames = row.reshape(shape).transpose(0, 2, 3, 1)
    if pixels.frames == 1 or front.mean:
        cells = weights.reshape(-1, *grid_shape(model, weights.shape[1]))
        return PictureAttention(frames.mean(axis=0), names, cells)
    each = weights.reshape(len(weights), len(frames), -1).sum(axis=2)
    labels = tuple(model.source.tokens(row))
    return VideoAttention(frames, AttentionMap(labels, names, each))


def _picture_front_end(model: TextPredictor) -> PictureFrontEnd:
    encoder = model.network.encoder
    if not isinstance(encoder, FrontEndEncoder) or not isinstance(encoder.front, PictureFrontEnd):
        raise TypeError("pictures are read through a front end")
    return encoder.front


def _fill_pictures(seen: PictureAttention, figure: "Figure", labels: Sequence[str]) -> None:
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


def _fill_sound(seen: SoundAttention, figure: "Figure", labels: Sequence[str]) -> None:
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


def is_media(field: Field) -> bool:
    """Whether a column holds pictures, sound or videos."""
    return isinstance(field, SoundField) or isinstance(field.items, Pixels)
