"""The options of what tells a Transformer where a token stands (S5.3)."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from seqloom.config.section import Section, Width, kind_or_table

__all__ = [
    "AppendedSinusoidsConfig",
    "JointPositionsConfig",
    "LearnedPositionsConfig",
    "NoPositionsConfig",
    "OneHotPositionsConfig",
    "PositionsConfig",
    "RotaryPositionsConfig",
    "SinusoidsConfig",
]

POSITIONS_KIND = (
    "what tells a Transformer where a token stands: sinusoids, sinusoids-appended, one-hot, "
    "learned, joint, rotary or none"
)


class SinusoidsConfig(Section):
    """Sines and cosines added to token vectors."""

    kind: Literal["sinusoids"] = Field("sinusoids", description=POSITIONS_KIND)


class AppendedSinusoidsConfig(Section):
    """Sines and cosines appended to token vectors."""

    kind: Literal["sinusoids-appended"] = Field("sinusoids-appended", description=POSITIONS_KIND)
    size: Width = Field(32, description="sinusoids-appended: an even number of values appended")


class LimitedPositionsOptions(Section):
    """Positions that are told apart up to a limit."""

    most: Annotated[int, Field(ge=1, le=65_536)] = Field(
        512, description="one-hot, learned, joint: positions told apart; later ones share the last"
    )


class OneHotPositionsConfig(LimitedPositionsOptions):
    """One-hot positions appended to token vectors."""

    kind: Literal["one-hot"] = Field("one-hot", description=POSITIONS_KIND)


class LearnedPositionsConfig(LimitedPositionsOptions):
    """A learned vector for each position, added."""

    kind: Literal["learned"] = Field("learned", description=POSITIONS_KIND)


class JointPositionsConfig(LimitedPositionsOptions):
    """A learned map of token vector and position together."""

    kind: Literal["joint"] = Field("joint", description=POSITIONS_KIND)


class RotaryPositionsConfig(Section):
    """Queries and keys turned by an angle that grows with the position."""

    kind: Literal["rotary"] = Field("rotary", description=POSITIONS_KIND)


class NoPositionsConfig(Section):
    """Nothing says where a token stands."""

    kind: Literal["none"] = Field("none", description=POSITIONS_KIND)


PositionsConfig = Annotated[
    Annotated[
        SinusoidsConfig
        | AppendedSinusoidsConfig
        | OneHotPositionsConfig
        | LearnedPositionsConfig
        | JointPositionsConfig
        | RotaryPositionsConfig
        | NoPositionsConfig,
        Field(discriminator="kind"),
    ],
    BeforeValidator(kind_or_table("sinusoids")),
]
