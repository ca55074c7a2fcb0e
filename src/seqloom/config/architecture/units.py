"""Options of recurrent units, and of stacks of layers."""

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
    """Options of every recurrent unit."""

    bias: bool = Field(True, description="whether the unit's affine maps have a bias")
    weights: Literal["orthogonal", "glorot", "uniform", "normal"] = Field(
        "orthogonal", description="initialization of the recurrent matrices"
    )


UNITS: Family[UnitOptions, Any] = Family(
    "unit", home="seqloom.nn.units", meaning="the recurrent unit"
)


class MatrixUnitOptions(UnitOptions):
    """Options of units with a recurrent matrix."""

    dropout: Share = Field(
        0.0,
        description="DropConnect: share of recurrent weights dropped, drawn anew for each batch",
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
        "before", description="apply the reset gate before or after the matrix product"
    )
    update: Literal["keep", "take"] = Field(
        "keep", description="meaning of an open update gate: keep the old state or take the new one"
    )


@UNITS.options("elman")
class ElmanConfig(MatrixUnitOptions):
    """Elman's network (S2.1)."""

    kind: Literal["elman"] = "elman"
    activation: Literal["tanh", "relu", "sigmoid", "identity"] = Field(
        "tanh", description="activation function"
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
        False,
        description="residual connections around recurrent layers of equal input and output size",
    )
    layer_norm: bool = Field(
        False, description="layer normalization of each recurrent layer's output"
    )


class TransformerOptions(Section):
    """Transformer blocks (S5)."""

    width: Width = Field(256, description="model width")
    inner: Annotated[int, Field(ge=1, le=65_536)] = Field(
        1024, description="size of the feed-forward layer"
    )
    heads: Layers = Field(4, description="attention heads")
    head_size: Count = Field(
        0, description="size of a head's queries and keys; 0 divides the width by the heads"
    )
    value_size: Count = Field(0, description="size of a head's values; 0 takes the head's size")
    attention_bias: bool = Field(False, description="whether attention projections have a bias")
    layers: Layers = Field(3, description="number of blocks")
    norm: Literal["first", "after"] = Field(
        "first", description="layer normalization before the sublayer or after the residual sum"
    )
    activation: Literal["relu", "gelu", "swish", "gated"] = Field(
        "relu",
        description="activation of the feed-forward layer: relu, gelu, swish, or gated "
        "gelu (geglu)",
    )
    dropout: DropoutRate = Field(0.1, description="share of values dropped in training")
    positions: PositionsConfig = SinusoidsConfig()
