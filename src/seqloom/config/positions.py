"""The options of what tells a Transformer where a token stands (SPEC S5.3)."""

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

PLACES = (
    "what tells a Transformer where a token stands: sinusoids, sinusoids-appended, one-hot, "
    "learned, joint, rotary or none"
)


class SinusoidsConfig(Section):
    """Sines and cosines added to token vectors."""

    kind: Literal["sinusoids"] = Field("sinusoids", description=PLACES)


class AppendedSinusoidsConfig(Section):
    """Sines and cosines appended to token vectors."""

    kind: Literal["sinusoids-appended"] = Field("sinusoids-appended", description=PLACES)
    size: Width = Field(32, description="sinusoids-appended: an even number of values appended")


class LimitedPositions(Section):
    """Positions that are told apart up to a limit."""

    most: Annotated[int, Field(ge=1, le=65_536)] = Field(
        512, description="one-hot, learned, joint: positions told apart; later ones share the last"
    )


class OneHotPositionsConfig(LimitedPositions):
    """One-hot positions appended to token vectors."""

    kind: Literal["one-hot"] = Field("one-hot", description=PLACES)


class LearnedPositionsConfig(LimitedPositions):
    """A learned vector for each position, added."""

    kind: Literal["learned"] = Field("learned", description=PLACES)


class JointPositionsConfig(LimitedPositions):
    """A learned map of token vector and position together."""

    kind: Literal["joint"] = Field("joint", description=PLACES)


class RotaryPositionsConfig(Section):
    """Queries and keys turned by an angle that grows with the position."""

    kind: Literal["rotary"] = Field("rotary", description=PLACES)


class NoPositionsConfig(Section):
    """Nothing says where a token stands."""

    kind: Literal["none"] = Field("none", description=PLACES)


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
