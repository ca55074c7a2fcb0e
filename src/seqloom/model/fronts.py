"""What turns pictures or sound into vectors before an encoder reads them (SPEC S3.4, S3.5)."""

from typing import Protocol, runtime_checkable

from torch import nn

from seqloom.fields import Pixels
from seqloom.model.state import Encoder, Memory, Source
from seqloom.nn.convolution import FrameConvolutions, PictureConvolutions, SpectrumMask

__all__ = ["Front", "FrontedEncoder", "PictureFront", "SoundFront"]

DARK, BRIGHT = 0.0, 255.0


@runtime_checkable
class Front(Protocol):
    """Another source in place of one: vectors in place of pixels or frames."""

    width: int

    def __call__(self, source: Source) -> Source: ...


class PictureFront(nn.Module):
    """Each picture of a source becomes one vector or a grid of them."""

    def __init__(self, pixels: Pixels, convolutions: PictureConvolutions) -> None:
        super().__init__()
        self.width = convolutions.width
        self.pixels = pixels
        self.convolutions = convolutions

    def forward(self, source: Source) -> Source:
        rows, steps = source.values.shape[:2]
        shape = self.pixels.channels, self.pixels.height, self.pixels.width
        kind = next(self.convolutions.parameters()).dtype
        light = source.values.to(kind).sub((DARK + BRIGHT) / 2).div(BRIGHT - DARK)
        vectors = self.convolutions(light.view(rows * steps, *shape))
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
        return Source(*self.convolutions(self.mask(source.values), source.lengths))


class FrontedEncoder(nn.Module):
    """Lets an encoder read what a front end makes of the source."""

    def __init__(self, front: Front, inner: Encoder) -> None:
        super().__init__()
        self.front = front
        self.inner = inner

    def encode(self, source: Source) -> Memory:
        return self.inner.encode(self.front(source))
