"""What may stand before an encoder: convolutions over pixels or frames (S3.4, S3.5)."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from seqloom.config.sections import Choice, Count, PartOptions, Width
from seqloom.registry import Family

__all__ = [
    "FRONT_ENDS",
    "ConvolutionOptions",
    "FrontEndConfig",
    "FrontEndOptions",
    "GridOptions",
    "NoFrontEndConfig",
    "PictureFrontEndConfig",
    "ResNetFrontEndConfig",
    "SoundFrontEndConfig",
]


class FrontEndOptions(PartOptions):
    """What makes vectors of the source before an encoder reads them."""

    hears: ClassVar[bool] = False  # whether it reads frames of sound

    @property
    def initial_weights(self) -> str:
        """The run directory or file whose weights it begins with; empty if none."""
        return ""

    def count_steps(self, lengths: Any) -> Any:
        """How many steps are left for the encoder of sources of these lengths."""
        return lengths


FRONT_ENDS: Family[FrontEndOptions, Any] = Family(
    "front end",
    home="seqloom.model",
    meaning="what makes vectors of the source first",
)


@FRONT_ENDS.options("none")
class NoFrontEndConfig(FrontEndOptions):
    """The encoder reads the source itself."""

    kind: Literal["none"] = "none"


class ConvolutionOptions(FrontEndOptions):
    """What every front end of convolutions can be asked."""

    weights: str = Field(
        "",
        description="begin with the convolutions of this run directory or safetensors file; with "
        "new ones if empty",
    )
    warp: Annotated[float, Field(ge=0, le=0.5)] = Field(
        0.0,
        description="how far parts of a picture or of a spectrum are pulled about at random in "
        "training, as a share of its shorter side, which is that of the bands",
    )

    @property
    def initial_weights(self) -> str:
        """The run directory or file whose weights it begins with; empty if none."""
        return self.weights


class GridOptions(ConvolutionOptions):
    """What every front end for pictures and videos can be asked."""

    grid: Literal["cells", "columns", "one", "whole"] = Field(
        "cells",
        description="vectors of a picture, one for each cell, one a column, one "
        "that is the mean of all cells, or one that is a map of all and so knows where each is",
    )
    frames: Literal["each", "mean"] = Field(
        "each", description="vectors of each frame of a video, or their mean"
    )


@FRONT_ENDS.options("picture")
class PictureFrontEndConfig(GridOptions):
    """Convolutions over pixels (S3.4)."""

    kind: Literal["picture"] = "picture"
    widths: tuple[Width, ...] = Field(
        (32, 64, 128), min_length=1, max_length=8, description="channels of each halving stage"
    )


@FRONT_ENDS.options("resnet")
class ResNetFrontEndConfig(GridOptions):
    """A residual network under the names that its published weights have (S3.4)."""

    kind: Literal["resnet"] = "resnet"
    depth: Literal[18, 34] = Field(18, description="layers that have weights")


@FRONT_ENDS.options("sound")
class SoundFrontEndConfig(ConvolutionOptions):
    """Convolutions over frames (S3.5)."""

    hears: ClassVar[bool] = True
    kind: Literal["sound"] = "sound"
    width: Width = Field(128, description="size of a vector of sound")
    halvings: Annotated[int, Field(ge=1, le=8)] = Field(
        2, description="how often the number of frames is halved"
    )
    mask_bands: Count = Field(
        8, description="most bands in a stripe that is silenced in training, up to a fifth of all"
    )
    mask_frames: Count = Field(
        20, description="most frames in such a stripe; two stripes of each are drawn"
    )

    def count_steps(self, lengths: Any) -> Any:
        """How many steps are left when the frames are halved so often."""
        for _ in range(self.halvings):
            lengths = (lengths + 1) // 2
        return lengths


FrontEndConfig = Annotated[FrontEndOptions, Choice(FRONT_ENDS, default="none")]
"""Any front end that is registered, or none."""
