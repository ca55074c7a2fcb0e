"""Front ends: vectors from pictures, videos and sound (S3.4, S3.5)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from seqloom.config import (
    FRONT_ENDS,
    ResNetFrontEndConfig,
    SoundFrontEndConfig,
)
from seqloom.errors import ConfigError
from seqloom.fields import Items, Pixels
from seqloom.model.connections import SOURCE, Connection, Connections
from seqloom.model.parts import EncoderModule, FrontEnd, WrappingEncoder, front_end_misfit
from seqloom.model.state import Memory, Source
from seqloom.nn.convolution import (
    FrameConvolutions,
    GridVectors,
    PictureConvolutions,
    SpectrumMask,
    Warp,
)
from seqloom.nn.resnet import ResNet

__all__ = [
    "IMAGENET_COLOURS",
    "MAX_BRIGHTNESS",
    "WHITE_PAGE",
    "FrontEndEncoder",
    "PictureFrontEnd",
    "PictureInput",
    "PixelStatistics",
    "ResNetFrontEnd",
    "SoundFrontEnd",
]


class PixelStatistics(NamedTuple):
    """The mean and standard deviation of each channel, for values from 0 to 1."""

    mean: tuple[float, ...]
    spread: tuple[float, ...]


WHITE_PAGE = PixelStatistics(
    (1.0,), (1.0,)
)  # so that white paper, like the padding of convolutions, is 0
IMAGENET_COLOURS = PixelStatistics(
    (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
)  # those of ImageNet weights
MAX_BRIGHTNESS = 255


MAX_HALVINGS = 16


class PictureInput(nn.Module):
    """Normalizes the pixels of a source; in training it warps pictures at random, all frames of a
    video alike.
    """

    def __init__(
        self, pixels: Pixels, *, light: PixelStatistics = WHITE_PAGE, warp: float = 0.0
    ) -> None:
        super().__init__()
        self.pixels = pixels
        self.light = light
        self.warp = Warp(warp)

    def forward(
        self, values: Shaped[Tensor, "B S N"], kind: torch.dtype
    ) -> Float[Tensor, "R C H W"]:
        rows, steps, _ = values.shape
        shape = self.pixels.channels, self.pixels.height, self.pixels.width
        bright = values.to(kind).view(rows * steps, *shape).div(MAX_BRIGHTNESS)
        mean, spread = (bright.new_tensor(each).view(-1, 1, 1) for each in self.light)
        return (self.warp(bright - 1.0, steps) - (mean - 1.0)) / spread


@FRONT_ENDS.part("picture")
class PictureFrontEnd(FrontEnd):
    """Turns each picture of a source into one vector or a grid of vectors.

    A learned vector is added for each frame of a video; or every cell is averaged over all frames.

    Vinyals et al. 2015, Show and Tell; Xu et al. 2015, Show, Attend and Tell; Venugopalan et al.
    2015, Translating Videos to Natural Language Using Deep Recurrent Neural Networks (mean of
    frames).
    """

    def __init__(
        self,
        pictures: PictureInput,
        convolutions: PictureConvolutions | ResNet,
        vectors: GridVectors,
        *,
        mean: bool = False,
    ) -> None:
        super().__init__()
        self.width = convolutions.width
        self.pictures = pictures
        self.mean = mean
        self.convolutions = convolutions
        self.vectors = vectors
        frames = pictures.pixels.frames
        told = frames > 1 and not mean
        self.times = nn.Parameter(torch.randn(frames, self.width)) if told else None

    @classmethod
    def build(cls, options: Any, source: Items) -> "PictureFrontEnd":
        """Build a stack of convolutions from `PictureFrontEndConfig`."""
        pixels, widths = _pixels(options.kind, source), options.widths
        least = 2 ** (len(widths) - 1)
        if min(pixels.height, pixels.width) < least:
            raise ConfigError(
                f"model.front.widths has {len(widths)} stages, which need pictures of "
                f"{least} × {least} or more, not {pixels.width} × {pixels.height}"
            )
        shape = _grid_shape(widths[-1], pixels, halvings=len(widths))
        vectors = GridVectors(options.grid, shape)
        stages = PictureConvolutions(pixels.channels, widths)
        pictures = PictureInput(pixels, warp=options.warp)
        return cls(pictures, stages, vectors, mean=options.frames == "mean")

    @property
    def keeps_items(self) -> bool:
        """Whether there is one vector for each frame."""
        return self.vectors.count == 1 and not self.mean

    def grid_shape(self, positions: int) -> tuple[int, int]:
        """Rows and columns of the grid with so many cells."""
        pixels = self.pictures.pixels
        for halvings in range(MAX_HALVINGS if self.vectors.grid == "cells" else 0):
            _, rows, columns = _grid_shape(self.width, pixels, halvings=halvings)
            if rows * columns == positions:
                return rows, columns
        return 1, positions

    def receptive_field(self, position: int, items: int) -> Sequence[int]:
        """The picture that a vector belongs to; all of them if their mean is read."""
        return range(items) if self.mean else [position // self.vectors.count]

    def forward(self, source: Source) -> Source:
        rows, steps = source.values.shape[:2]
        pictures = self.pictures(source.values, next(self.convolutions.parameters()).dtype)
        vectors = self.vectors(self.convolutions(pictures))
        return self._join_frames(vectors.unflatten(0, (rows, steps)), source.lengths)

    def _join_frames(self, vectors: Float[Tensor, "B S P D"], lengths: Int[Tensor, "B"]) -> Source:
        """The vectors of all frames, concatenated, or their mean over the real frames."""
        _, steps, each, _ = vectors.shape
        if self.mean:
            real = torch.arange(steps, device=lengths.device) < lengths[:, None]
            total = (vectors * real[:, :, None, None]).sum(dim=1)
            return Source(total / lengths[:, None, None], torch.full_like(lengths, each))
        if self.times is not None:
            vectors = vectors + self.times[:steps, None]
        return Source(vectors.flatten(1, 2), lengths * each)


@FRONT_ENDS.part("resnet")
class ResNetFrontEnd(PictureFrontEnd):
    """A residual network, which can be initialized from published weights."""

    @classmethod
    def build(cls, options: ResNetFrontEndConfig, source: Items) -> "ResNetFrontEnd":
        pixels = _pixels(options.kind, source)
        if pixels.channels != len(IMAGENET_COLOURS.mean):
            raise ConfigError(
                "model.front.kind = 'resnet' reads three colours", remedy="set source.colour=true"
            )
        network = ResNet(options.depth)
        vectors = GridVectors(options.grid, _grid_shape(network.width, pixels, halvings=5))
        pictures = PictureInput(pixels, light=IMAGENET_COLOURS, warp=options.warp)
        return cls(pictures, network, vectors, mean=options.frames == "mean")


@FRONT_ENDS.part("sound")
class SoundFrontEnd(FrontEnd):
    """Turns the frames of a recording into fewer vectors.

    Chan et al. 2016, Listen, Attend and Spell.
    """

    keeps_time = True

    def __init__(
        self, mask: SpectrumMask, convolutions: FrameConvolutions, *, warp: float = 0.0
    ) -> None:
        super().__init__()
        self.width = convolutions.width
        self.warp = Warp(warp)
        self.mask = mask
        self.convolutions = convolutions

    @classmethod
    def build(cls, options: SoundFrontEndConfig, source: Items) -> "SoundFrontEnd":
        if source.symbols is not None or source.pixels is not None:
            raise front_end_misfit(options.kind)
        frames = FrameConvolutions(source.count, options.width, halvings=options.halvings)
        mask = SpectrumMask(bands=options.mask_bands, frames=options.mask_frames)
        return cls(mask, frames, warp=options.warp)

    def receptive_field(self, position: int, items: int) -> Sequence[int]:
        """The frames within reach of the convolutions."""
        return self.convolutions.receptive_field(position, items)

    def forward(self, source: Source) -> Source:
        values, lengths = self.warp(source.values[:, None])[:, 0], source.lengths
        return Source(*self.convolutions(self.mask(values, lengths), lengths))


class FrontEndEncoder(WrappingEncoder):
    """An encoder behind a front end."""

    def __init__(self, front: FrontEnd, inner: EncoderModule) -> None:
        super().__init__()
        self.front = front
        self.inner = inner

    @property
    def front_end(self) -> FrontEnd:
        return self.front

    def encode(self, source: Source) -> Memory:
        return self.inner.encode(self.front(source))

    def layer_states(self, source: Source) -> list[Float[Tensor, "B S _"]]:
        return self.inner.layer_states(self.front(source))

    def connections(self) -> Connections:
        inner = self.inner.connections()
        field = self.front.receptive_field
        first = Connection(SOURCE, "encoder.input", "convolution", "field", field=field)
        edges = tuple(first if edge.tail == SOURCE else edge for edge in inner.edges)
        nodes = tuple(
            replace(node, label="convolutions") if node.name == "encoder.input" else node
            for node in inner.nodes
        )
        return Connections(nodes, edges, inner.order)


def _pixels(kind: str, source: Items) -> Pixels:
    """The pictures of a source; ConfigError where it has none."""
    if source.pixels is None:
        raise front_end_misfit(kind)
    return source.pixels


def _grid_shape(width: int, pixels: Pixels, *, halvings: int) -> tuple[int, int, int]:
    """Channels, rows and columns of a picture after so many halvings."""
    rows, columns = (-(-side // 2**halvings) for side in (pixels.height, pixels.width))
    return width, rows, columns
