"""The options of recurrent units (S2)."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from seqloom.config.section import Section, Share, kind_or_table

__all__ = [
    "ElmanConfig",
    "GruConfig",
    "LstmConfig",
    "SsruConfig",
    "UnitConfig",
]

UNIT = "the recurrent unit: lstm, gru, elman or ssru"


class UnitOptions(Section):
    """What every recurrent unit can be asked."""

    bias: bool = Field(True, description="whether the unit's affine maps have a bias")
    weights: Literal["orthogonal", "glorot", "uniform", "normal"] = Field(
        "orthogonal", description="how the recurrent matrices are drawn at first"
    )


class MatrixUnitOptions(UnitOptions):
    """And those whose state goes through a matrix at every step."""

    dropout: Share = Field(
        0.0,
        description="lstm, gru, elman: share of the weights from state to state that are left out, "
        "others in every batch",
    )


class LstmConfig(MatrixUnitOptions):
    """Long short-term memory (S2.3)."""

    kind: Literal["lstm"] = Field("lstm", description=UNIT)


class GruConfig(MatrixUnitOptions):
    """Gated recurrent unit (S2.4)."""

    kind: Literal["gru"] = Field("gru", description=UNIT)
    reset: Literal["before", "after"] = Field(
        "before", description="gru: the reset gate acts before or after the matrix product"
    )
    update: Literal["keep", "take"] = Field(
        "keep", description="gru: what an open update gate does, keep the state or take the new one"
    )


class ElmanConfig(MatrixUnitOptions):
    """Elman's network (S2.1)."""

    kind: Literal["elman"] = Field("elman", description=UNIT)
    activation: Literal["tanh", "relu", "sigmoid", "identity"] = Field(
        "tanh", description="elman: the function the sum goes through"
    )


class SsruConfig(UnitOptions):
    """A simple recurrent unit whose gate and candidate need the input alone."""

    kind: Literal["ssru"] = Field("ssru", description=UNIT)


UnitConfig = Annotated[
    Annotated[LstmConfig | GruConfig | ElmanConfig | SsruConfig, Field(discriminator="kind")],
    BeforeValidator(kind_or_table("lstm")),
]
