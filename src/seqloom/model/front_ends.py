"""What turns pictures, videos or sound into vectors before they are read (S3.4, S3.5)."""

from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from seqloom.fields import Pixels
from seqloom.model.state import Encoder, Memory, Source
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
    "FrontEnd",
    "FrontEndEncoder",
    "PictureFrontEnd",
    "PictureInput",
    "PixelStatistics",
    "SoundFrontEnd",
]


class PixelStatistics(NamedTuple):
    """What each channel has subtracted and is then divided by, in shares of the brightest."""

    mean: tuple[float, ...]
    spread: tuple[float, ...]


WHITE_PAGE = PixelStatistics(
    (1.0,), (1.0,)
)  # so that the page, and what convolutions see beyond it, are 0
IMAGENET_COLOURS = PixelStatistics(
    (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
)  # of published weights
MAX_BRIGHTNESS = 255


@runtime_checkable
class FrontEnd(Protocol):
    """Another source in place of one: vectors in place of pixels or frames."""

    width: int

    def __call__(self, source: Source) -> Source: ...


class PictureInput(nn.Module):
    """The pixels of a source as pictures, in the light that convolutions expect; pulled about in
    training, all frames of a video alike."""

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


class PictureFrontEnd(nn.Module):
    """Each picture of a source becomes one vector or a grid of them.

    The frames of a video are told apart by a vector for each, which is learnt and added; or what
    each cell is in all of them becomes one, their mean.
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

    def forward(self, source: Source) -> Source:
        rows, steps = source.values.shape[:2]
        pictures = self.pictures(source.values, next(self.convolutions.parameters()).dtype)
        vectors = self.vectors(self.convolutions(pictures))
        return self._join_frames(vectors.unflatten(0, (rows, steps)), source.lengths)

    def _join_frames(self, vectors: Float[Tensor, "B S P D"], lengths: Int[Tensor, "B"]) -> Source:
        """The vectors of all frames, one after another, or their mean over the real ones."""
        _, steps, each, _ = vectors.shape
        if self.mean:
            real = torch.arange(steps, device=lengths.device) < lengths[:, None]
            total = (vectors * real[:, :, None, None]).sum(dim=1)
            return Source(total / lengths[:, None, None], torch.full_like(lengths, each))
        if self.times is not None:
            vectors = vectors + self.times[:steps, None]
        return Source(vectors.flatten(1, 2), lengths * each)


class SoundFrontEnd(nn.Module):
    """The frames of a recording become fewer vectors."""

    def __init__(
        self, mask: SpectrumMask, convolutions: FrameConvolutions, *, warp: float = 0.0
    ) -> None:
        super().__init__()
        self.width = convolutions.width
        self.warp = Warp(warp)
        self.mask = mask
        self.convolutions = convolutions

    def forward(self, source: Source) -> Source:
        values, lengths = self.warp(source.values[:, None])[:, 0], source.lengths
        return Source(*self.convolutions(self.mask(values, lengths), lengths))


class FrontEndEncoder(nn.Module):
    """Lets an encoder read what a front end makes of the source."""

    def __init__(self, front: FrontEnd, inner: Encoder) -> None:
        super().__init__()
        self.front = front
        self.inner = inner

    def encode(self, source: Source) -> Memory:
        return self.inner.encode(self.front(source))
