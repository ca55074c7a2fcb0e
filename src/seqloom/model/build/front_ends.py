"""Which front end stands before the encoder (S3.4, S3.5)."""

from seqloom.config import (
    FrontEndConfig,
    NoFrontEndConfig,
    PictureFrontEndConfig,
    ResNetFrontEndConfig,
    SoundFrontEndConfig,
)
from seqloom.errors import ConfigError
from seqloom.fields import Items, Numbers, Pixels, Symbols
from seqloom.model.front_ends import (
    IMAGENET_COLOURS,
    FrontEnd,
    PictureFrontEnd,
    PictureInput,
    SoundFrontEnd,
)
from seqloom.nn.convolution import (
    FrameConvolutions,
    GridVectors,
    PictureConvolutions,
    SpectrumMask,
)
from seqloom.nn.resnet import ResNet

__all__ = ["build_front_end"]


def build_front_end(part: FrontEndConfig, source: Items) -> tuple[FrontEnd | None, Items]:
    """What comes before the encoder, and the items that the encoder then sees."""
    match part, source:
        case NoFrontEndConfig(), Symbols() | Numbers():
            return None, source
        case PictureFrontEndConfig() | ResNetFrontEndConfig(), Pixels() as pixels:
            front = _picture_front_end(part, pixels)
            return front, Numbers(front.width)
        case SoundFrontEndConfig(), Numbers(bands):
            frames = FrameConvolutions(bands, part.width, halvings=part.halvings)
            mask = SpectrumMask(bands=part.mask_bands, frames=part.mask_frames)
            return SoundFrontEnd(mask, frames, warp=part.warp), Numbers(part.width)
        case _:
            raise ConfigError(
                f"model.front.kind = {part.kind!r} does not fit the source: leave it out, and it "
                "follows from source.kind"
            )


def _picture_front_end(
    part: PictureFrontEndConfig | ResNetFrontEndConfig, pixels: Pixels
) -> PictureFrontEnd:
    mean = part.frames == "mean"
    match part:
        case PictureFrontEndConfig(widths=widths):
            least = 2 ** (len(widths) - 1)
            if min(pixels.height, pixels.width) < least:
                raise ConfigError(
                    f"model.front.widths has {len(widths)} stages, which need pictures of "
                    f"{least} × {least} or more, not {pixels.width} × {pixels.height}"
                )
            vectors = GridVectors(part.grid, _grid_shape(widths[-1], pixels, halvings=len(widths)))
            stages = PictureConvolutions(pixels.channels, widths)
            return PictureFrontEnd(PictureInput(pixels, warp=part.warp), stages, vectors, mean=mean)
        case ResNetFrontEndConfig(depth=depth):
            if pixels.channels != len(IMAGENET_COLOURS.mean):
                raise ConfigError(
                    "model.front.kind = 'resnet' reads three colours: set source.colour=true"
                )
            published = ResNet(depth)
            vectors = GridVectors(part.grid, _grid_shape(published.width, pixels, halvings=5))
            pictures = PictureInput(pixels, light=IMAGENET_COLOURS, warp=part.warp)
            return PictureFrontEnd(pictures, published, vectors, mean=mean)


def _grid_shape(width: int, pixels: Pixels, *, halvings: int) -> tuple[int, int, int]:
    """Channels, rows and columns of what is left of a picture."""
    rows, columns = (-(-side // 2**halvings) for side in (pixels.height, pixels.width))
    return width, rows, columns
