"""What turns pictures or sound into vectors before an encoder reads them (SPEC S3.4, S3.5)."""

from typing import NamedTuple, Protocol, runtime_checkable

from torch import nn

from seqloom.fields import Pixels
from seqloom.model.state import Encoder, Memory, Source
from seqloom.nn.convolution import (
    FrameConvolutions,
    GridVectors,
    PictureConvolutions,
    SpectrumMask,
)
from seqloom.nn.resnet import ResNet

__all__ = ["COLOURS", "GREY", "Front", "FrontedEncoder", "Light", "PictureFront", "SoundFront"]


class Light(NamedTuple):
    """What each channel has subtracted and is then divided by, in shares of the brightest."""

    mean: tuple[float, ...]
    spread: tuple[float, ...]


GREY = Light((0.5,), (1.0,))
COLOURS = Light((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # of published weights
BRIGHTEST = 255


@runtime_checkable
class Front(Protocol):
    """Another source in place of one: vectors in place of pixels or frames."""

    width: int

    def __call__(self, source: Source) -> Source: ...


class PictureFront(nn.Module):
    """Each picture of a source becomes one vector or a grid of them."""

    def __init__(
        self,
        pixels: Pixels,
        convolutions: PictureConvolutions | ResNet,
        vectors: GridVectors,
        light: Light = GREY,
    ) -> None:
        super().__init__()
        self.width = convolutions.width
        self.pixels = pixels
        self.light = light
        self.convolutions = convolutions
        self.vectors = vectors

    def forward(self, source: Source) -> Source:
        rows, steps = source.values.shape[:2]
        shape = self.pixels.channels, self.pixels.height, self.pixels.width
        kind = next(self.convolutions.parameters()).dtype
        bright = source.values.to(kind).view(rows * steps, *shape).div(BRIGHTEST)
        mean, spread = (bright.new_tensor(each).view(-1, 1, 1) for each in self.light)
        vectors = self.vectors(self.convolutions((bright - mean) / spread))
        each = vectors.shape[1]
        return Source(vectors.reshape(rows, steps * each, self.width), source.lengths * each)


class SoundFront(nn.Module):
    """The frames of a recording become fewer vectors."""

    def __init__(self, mask: SpectrumMask, convolutions: FrameConvolutions) -> None:
        super().__init__()
        self.width = convolutions.width
        self.mask = mask
        self.convolutions = convolutions

    def forward(self, source: Source) -> Source:
        values, lengths = source
        return Source(*self.convolutions(self.mask(values, lengths), lengths))


class FrontedEncoder(nn.Module):
    """Lets an encoder read what a front end makes of the source."""

    def __init__(self, front: Front, inner: Encoder) -> None:
        super().__init__()
        self.front = front
        self.inner = inner

    def encode(self, source: Source) -> Memory:
        return self.inner.encode(self.front(source))
