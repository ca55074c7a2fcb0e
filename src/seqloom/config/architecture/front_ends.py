"""Options of front ends: convolutions over pixels or frames before the encoder (S3.4, S3.5)."""

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
    """Options of every front end."""

    hears: ClassVar[bool] = False  # whether it reads frames of sound

    @property
    def initial_weights(self) -> str:
        """The run directory or file whose weights it begins with; empty if none."""
        return ""

    def count_steps(self, lengths: Any) -> Any:
        """The numbers of steps that the encoder gets for sources of these lengths."""
        return lengths


FRONT_ENDS: Family[FrontEndOptions, Any] = Family(
    "front end",
    home="seqloom.model",
    meaning="the front end: layers before the encoder",
)


@FRONT_ENDS.options("none")
class NoFrontEndConfig(FrontEndOptions):
    """No front end: the encoder reads the source directly."""

    kind: Literal["none"] = "none"


class ConvolutionOptions(FrontEndOptions):
    """Options of every convolutional front end."""

    weights: str = Field(
        "",
        description="initialize the convolutions from this run directory or safetensors file; "
        "randomly if empty",
    )
    warp: Annotated[float, Field(ge=0, le=0.5)] = Field(
        0.0,
        description="elastic distortion in training: largest displacement as a share of the "
        "shorter side (for sound, the bands)",
    )

    @property
    def initial_weights(self) -> str:
        """The run directory or file whose weights it begins with; empty if none."""
        return self.weights


class GridOptions(ConvolutionOptions):
    """Options of every front end for pictures and videos."""

    grid: Literal["cells", "columns", "one", "whole"] = Field(
        "cells",
        description="vectors of a picture: one per cell, one per column, the mean of all cells, "
        "or a learned map of all cells that keeps positions",
    )
    frames: Literal["each", "mean"] = Field(
        "each", description="vectors of each frame of a video, or their mean over frames"
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
    depth: Literal[18, 34] = Field(18, description="layers with weights")


@FRONT_ENDS.options("sound")
class SoundFrontEndConfig(ConvolutionOptions):
    """Convolutions over frames (S3.5)."""

    hears: ClassVar[bool] = True
    kind: Literal["sound"] = "sound"
    width: Width = Field(128, description="size of a vector of sound")
    halvings: Annotated[int, Field(ge=1, le=8)] = Field(
        2, description="number of layers that halve the frames"
    )
    mask_bands: Count = Field(
        8, description="SpecAugment: most bands in a mask, up to a fifth of all"
    )
    mask_frames: Count = Field(
        20, description="SpecAugment: most frames in a mask; two masks of each are drawn"
    )

    def count_steps(self, lengths: Any) -> Any:
        """The number of steps after halving the frames this often."""
        for _ in range(self.halvings):
            lengths = (lengths + 1) // 2
        return lengths


FrontEndConfig = Annotated[FrontEndOptions, Choice(FRONT_ENDS, default="none")]
"""Any front end that is registered, or none."""
