"""Options of positional encodings (S5.3)."""

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
    """Options of every positional encoding."""


POSITIONS: Family[PositionsOptions, Any] = Family(
    "kind of positions",
    home="seqloom.nn.positions",
    meaning="the positional encoding",
)


@POSITIONS.options("sinusoids")
class SinusoidsConfig(PositionsOptions):
    """Sinusoids added to the embeddings."""

    kind: Literal["sinusoids"] = "sinusoids"


@POSITIONS.options("sinusoids-appended")
class AppendedSinusoidsConfig(PositionsOptions):
    """Sinusoids appended to the embeddings."""

    kind: Literal["sinusoids-appended"] = "sinusoids-appended"
    size: Width = Field(32, description="even number of values to append")


@POSITIONS.options("sinusoids-halved")
class HalvedSinusoidsConfig(PositionsOptions):
    """Sines added to the first half of the embeddings and cosines to the second, counted from 0."""

    kind: Literal["sinusoids-halved"] = "sinusoids-halved"


class LimitedPositionsOptions(PositionsOptions):
    """Options of encodings with a limited number of positions."""

    most: Annotated[int, Field(ge=1, le=65_536)] = Field(
        512, description="number of distinct positions; later ones share the last"
    )


@POSITIONS.options("one-hot")
class OneHotPositionsConfig(LimitedPositionsOptions):
    """One-hot positions appended to the embeddings."""

    kind: Literal["one-hot"] = "one-hot"


@POSITIONS.options("learned")
class LearnedPositionsConfig(LimitedPositionsOptions):
    """A learned vector for each position, added."""

    kind: Literal["learned"] = "learned"


@POSITIONS.options("joint")
class JointPositionsConfig(LimitedPositionsOptions):
    """A learned map of embedding and position together."""

    kind: Literal["joint"] = "joint"


@POSITIONS.options("rotary")
class RotaryPositionsConfig(PositionsOptions):
    """Rotary position embedding of queries and keys."""

    kind: Literal["rotary"] = "rotary"


@POSITIONS.options("none")
class NoPositionsConfig(PositionsOptions):
    """No positional encoding."""

    kind: Literal["none"] = "none"


PositionsConfig = Annotated[PositionsOptions, Choice(POSITIONS, default="sinusoids")]
"""Any kind of positions that is registered."""
