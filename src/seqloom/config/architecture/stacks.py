"""The options that encoders and decoders have in common: stacks of layers."""

from typing import Annotated, Literal

from pydantic import Field

from seqloom.config.architecture.positions import PositionsConfig, SinusoidsConfig
from seqloom.config.architecture.units import LstmConfig, UnitConfig
from seqloom.config.sections import Count, DropoutRate, Layers, Section, Width

__all__ = ["RecurrentOptions", "TransformerOptions"]


class RecurrentOptions(Section):
    """A stack of recurrent layers (S2.6)."""

    unit: UnitConfig = LstmConfig()
    layers: Layers = Field(1, description="number of stacked layers")
    dropout: DropoutRate = Field(0.2, description="share of values dropped in training")
    residual: bool = Field(
        False, description="add a recurrent layer's input to its output where their sizes agree"
    )
    layer_norm: bool = Field(False, description="layer norm on each recurrent layer's output")


class TransformerOptions(Section):
    """Transformer blocks (S5)."""

    width: Width = Field(256, description="size of a position's vector")
    inner: Annotated[int, Field(ge=1, le=65_536)] = Field(
        1024, description="size of the network inside a block"
    )
    heads: Layers = Field(4, description="attention heads")
    head_size: Count = Field(
        0, description="size of a head's queries and keys; 0 divides the width by the heads"
    )
    value_size: Count = Field(0, description="size of a head's values; 0 takes the head's size")
    attention_bias: bool = Field(False, description="whether attention's maps have a bias")
    layers: Layers = Field(3, description="number of blocks")
    norm: Literal["first", "after"] = Field(
        "first", description="layer norm before or after the sum"
    )
    activation: Literal["relu", "gelu", "swish", "gated"] = Field(
        "relu", description="the network inside a block: relu, gelu, swish, or gated by gelu"
    )
    dropout: DropoutRate = Field(0.1, description="share of values dropped in training")
    positions: PositionsConfig = SinusoidsConfig()
