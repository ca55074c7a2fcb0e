"""The options of recurrent units (S2)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from seqloom.config.sections import Choice, PartOptions, Share
from seqloom.registry import Family

__all__ = [
    "UNITS",
    "ElmanConfig",
    "GruConfig",
    "LstmConfig",
    "SsruConfig",
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
