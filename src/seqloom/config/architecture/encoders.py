"""Options of encoders."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from seqloom.config.architecture.units import RecurrentOptions, TransformerOptions
from seqloom.config.sections import Choice, Layers, PartOptions, Width
from seqloom.registry import Family

__all__ = [
    "ENCODERS",
    "EncoderConfig",
    "EncoderOptions",
    "NoEncoderConfig",
    "RecurrentEncoderConfig",
    "TransformerEncoderConfig",
    "ValuesEncoderConfig",
    "VectorsEncoderConfig",
]


class EncoderOptions(PartOptions):
    """Options of every encoder."""

    follows_columns: ClassVar[bool] = (
        False  # whether the source's kind determines it, whatever the preset
    )

    @property
    def hides_each_position(self) -> bool:
        """Whether each position is shown those around it and not itself."""
        return False


ENCODERS: Family[EncoderOptions, Any] = Family(
    "encoder", home="seqloom.model", meaning="the encoder"
)


@ENCODERS.options("transformer")
class TransformerEncoderConfig(EncoderOptions, TransformerOptions):
    """Transformer blocks over the source (S5.4)."""

    kind: Literal["transformer"] = "transformer"
    mixing: Literal["attention", "simple"] = Field(
        "attention",
        description="token mixing: self-attention with learned projections, or without (simple)",
    )


@ENCODERS.options("recurrent")
class RecurrentEncoderConfig(EncoderOptions, RecurrentOptions):
    """Stacked recurrent layers over the source (S2.6)."""

    kind: Literal["recurrent"] = "recurrent"
    width: Width = Field(256, description="size of the hidden state of one direction")
    layers: Layers = Field(2, description="number of stacked layers")
    direction: Literal["both", "forward", "backward", "around"] = Field(
        "both",
        description="direction of a recurrent encoder; around: states before and after each "
        "position, without the position itself (blanks)",
    )
    first_state: Literal["zero", "learnt"] = Field(
        "zero", description="initial state of a recurrent encoder"
    )

    @property
    def hides_each_position(self) -> bool:
        """Whether each position is shown those around it and not itself."""
        return self.direction == "around"


@ENCODERS.options("vectors")
class VectorsEncoderConfig(EncoderOptions):
    """No layers: the source's embeddings."""

    follows_columns: ClassVar[bool] = True
    kind: Literal["vectors"] = "vectors"


@ENCODERS.options("values")
class ValuesEncoderConfig(EncoderOptions):
    """No layers and no projection: the raw numbers of a series."""

    kind: Literal["values"] = "values"


@ENCODERS.options("none")
class NoEncoderConfig(EncoderOptions):
    """No source: a language model."""

    follows_columns: ClassVar[bool] = True
    kind: Literal["none"] = "none"


EncoderConfig = Annotated[EncoderOptions, Choice(ENCODERS)]
"""Any encoder that is registered."""
