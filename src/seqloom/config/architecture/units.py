"""The options of recurrent units, and of stacks of layers."""

from typing import Annotated, Any, Literal

from pydantic import Field

from seqloom.config.architecture.positions import PositionsConfig, SinusoidsConfig
from seqloom.config.sections import (
    Choice,
    Count,
    DropoutRate,
    Layers,
    PartOptions,
    Section,
    Share,
    Width,
)
from seqloom.registry import Family

__all__ = [
    "UNITS",
    "ElmanConfig",
    "GruConfig",
    "LstmConfig",
    "RecurrentOptions",
    "SsruConfig",
    "TransformerOptions",
    "UnitConfig",
    "UnitOptions",
]


class UnitOptions(PartOptions):
    """What every recurrent unit can be asked."""

    bias: bool = Field(True, description="whether the unit's affine maps have a bias")
    weights: Literal["orthogonal", "glorot", "uniform", "normal"] = Field(
        "orthogonal", description="how the recurrent matrices are drawn at first"
    )


UNITS: Family[UnitOptions, Any] = Family(
    "unit", home="seqloom.nn.units", meaning="the recurrent unit"
)


class MatrixUnitOptions(UnitOptions):
    """And those whose state goes through a matrix at every step."""

    dropout: Share = Field(
        0.0,
        description="share of the weights from state to state that are left out, "
        "others in every batch",
    )


@UNITS.options("lstm")
class LstmConfig(MatrixUnitOptions):
    """Long short-term memory (S2.3)."""

    kind: Literal["lstm"] = "lstm"


@UNITS.options("gru")
class GruConfig(MatrixUnitOptions):
    """Gated recurrent unit (S2.4)."""

    kind: Literal["gru"] = "gru"
    reset: Literal["before", "after"] = Field(
        "before", description="the reset gate acts before or after the matrix product"
    )
    update: Literal["keep", "take"] = Field(
        "keep", description="what an open update gate does, keep the state or take the new one"
    )


@UNITS.options("elman")
class ElmanConfig(MatrixUnitOptions):
    """Elman's network (S2.1)."""

    kind: Literal["elman"] = "elman"
    activation: Literal["tanh", "relu", "sigmoid", "identity"] = Field(
        "tanh", description="the function the sum goes through"
    )


@UNITS.options("ssru")
class SsruConfig(UnitOptions):
    """A simple recurrent unit whose gate and candidate need the input alone."""

    kind: Literal["ssru"] = "ssru"


UnitConfig = Annotated[UnitOptions, Choice(UNITS, default="lstm")]
"""Any recurrent unit that is registered."""


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
