"""The options of what tells a Transformer where a token stands (S5.3)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from seqloom.config.sections import Choice, PartOptions, Width
from seqloom.registry import Family

__all__ = [
    "POSITIONS",
    "AppendedSinusoidsConfig",
    "HalvedSinusoidsConfig",
    "JointPositionsConfig",
    "LearnedPositionsConfig",
    "NoPositionsConfig",
    "OneHotPositionsConfig",
    "PositionsConfig",
    "PositionsOptions",
    "RotaryPositionsConfig",
    "SinusoidsConfig",
]


class PositionsOptions(PartOptions):
    """What every kind of positions can be asked."""


POSITIONS: Family[PositionsOptions, Any] = Family(
    "kind of positions",
    home="seqloom.nn.positions",
    meaning="what tells a Transformer where a token stands",
)


@POSITIONS.options("sinusoids")
class SinusoidsConfig(PositionsOptions):
    """Sines and cosines added to token vectors."""

    kind: Literal["sinusoids"] = "sinusoids"


@POSITIONS.options("sinusoids-appended")
class AppendedSinusoidsConfig(PositionsOptions):
    """Sines and cosines appended to token vectors."""

    kind: Literal["sinusoids-appended"] = "sinusoids-appended"
    size: Width = Field(32, description="an even number of values appended")


@POSITIONS.options("sinusoids-halved")
class HalvedSinusoidsConfig(PositionsOptions):
    """Sines added to the first half of token vectors and cosines to the second, counted from 0."""

    kind: Literal["sinusoids-halved"] = "sinusoids-halved"


class LimitedPositionsOptions(PositionsOptions):
    """Positions that are told apart up to a limit."""

    most: Annotated[int, Field(ge=1, le=65_536)] = Field(
        512, description="positions told apart; later ones share the last"
    )


@POSITIONS.options("one-hot")
class OneHotPositionsConfig(LimitedPositionsOptions):
    """One-hot positions appended to token vectors."""

    kind: Literal["one-hot"] = "one-hot"


@POSITIONS.options("learned")
class LearnedPositionsConfig(LimitedPositionsOptions):
    """A learned vector for each position, added."""

    kind: Literal["learned"] = "learned"


@POSITIONS.options("joint")
class JointPositionsConfig(LimitedPositionsOptions):
    """A learned map of token vector and position together."""

    kind: Literal["joint"] = "joint"


@POSITIONS.options("rotary")
class RotaryPositionsConfig(PositionsOptions):
    """Queries and keys turned by an angle that grows with the position."""

    kind: Literal["rotary"] = "rotary"


@POSITIONS.options("none")
class NoPositionsConfig(PositionsOptions):
    """Nothing says where a token stands."""

    kind: Literal["none"] = "none"


PositionsConfig = Annotated[PositionsOptions, Choice(POSITIONS, default="sinusoids")]
"""Any kind of positions that is registered."""
