"""The options of heads: what gives a target at once, in place of a decoder."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from seqloom.config.sections import DropoutRate, PartOptions, ReadoutChoice
from seqloom.registry import Family

__all__ = [
    "HEADS",
    "BlanksHeadConfig",
    "HeadOptions",
    "HorizonHeadConfig",
    "LabelHeadConfig",
    "NumberHeadConfig",
    "PooledOptions",
    "TagsHeadConfig",
]


class HeadOptions(PartOptions):
    """What every head can be asked."""

    follows_columns: ClassVar[bool] = True  # whether the target asks for it, whatever the preset
    is_ctc: ClassVar[bool] = False  # whether CTC is all that writes the target


HEADS: Family[HeadOptions, Any] = Family("head", home="seqloom.model")


class PooledOptions(HeadOptions):
    """What every head over a whole source can be asked."""

    pool: Literal["code", "mean", "max"] = Field(
        "mean",
        description="what is judged, the code, or the mean or maximum of all states",
    )
    dropout: DropoutRate = Field(0.1, description="share of values left out at random in training")
    readout: ReadoutChoice = "affine"


@HEADS.options("label")
class LabelHeadConfig(PooledOptions):
    """One label for the whole source (S5.6)."""

    kind: Literal["label"] = "label"


@HEADS.options("tags")
class TagsHeadConfig(HeadOptions):
    """One label for each position of the source (S5.6)."""

    kind: Literal["tags"] = "tags"
    readout: ReadoutChoice = "affine"


@HEADS.options("blanks")
class BlanksHeadConfig(HeadOptions):
    """A token of the source's vocabulary for positions of the source that were left out."""

    kind: Literal["blanks"] = "blanks"
    dropout: DropoutRate = Field(0.1, description="share of values left out at random in training")
    readout: ReadoutChoice = "perceptron"


@HEADS.options("number")
class NumberHeadConfig(PooledOptions):
    """One number for the whole source."""

    kind: Literal["number"] = "number"


@HEADS.options("horizon")
class HorizonHeadConfig(HeadOptions):
    """All steps of a forecast at once."""

    follows_columns: ClassVar[bool] = False  # a preset that writes forecasts step by step
    kind: Literal["horizon"] = "horizon"
    inner: Annotated[int, Field(ge=0, le=16_384)] = Field(
        0, description="size of a layer between window and forecast; 0 is a linear model"
    )
    dropout: DropoutRate = Field(0.0, description="share of values left out at random in training")
