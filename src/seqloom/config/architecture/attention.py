"""The options of attention: how a recurrent decoder looks at the source (S4)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from seqloom.config.sections import Choice, Count, Layers, NameOf, PartOptions
from seqloom.registry import Family

__all__ = [
    "ATTENTIONS",
    "SCORES",
    "AttentionConfig",
    "AttentionForm",
    "AttentionOptions",
    "GlobalAttentionConfig",
    "LocalAttentionConfig",
    "NoAttentionConfig",
]

SCORES: Family[Any, Any] = Family(
    "attention score",
    home="seqloom.nn.attention",
    meaning="the score of a query and a key",
    names=(
        *("dot", "scaled", "general", "scaled-general", "additive", "concatenation", "perceptron"),
    ),
)


class AttentionForm(PartOptions):
    """Which positions of the source a decoder sees."""


ATTENTIONS: Family[AttentionForm, Any] = Family(
    "kind of attention", home="seqloom.model", meaning="which positions are seen"
)


class AttentionOptions(AttentionForm):
    """How a recurrent decoder looks at the source (S4)."""

    score: Annotated[str, NameOf(SCORES)] = Field("general", description=SCORES.meaning)
    query: Literal["current", "previous", "output"] = Field(
        "current",
        description="what asks: the current state, the previous state, or the previous output",
    )
    feed: bool = Field(
        False, description="feed what attention made of a step into the next step (input feeding)"
    )
    heads: Layers = Field(1, description="attention heads, each with keys and queries of its own")
    size: Count = Field(
        0,
        description="size of a head's queries and keys, and of the layer inside a score; "
        "0 divides the decoder's width by the heads",
    )
    causal: bool = Field(
        False, description="let step t look at the first t positions of the source only"
    )


@ATTENTIONS.options("global")
class GlobalAttentionConfig(AttentionOptions):
    """Attention to every position."""

    kind: Literal["global"] = "global"


@ATTENTIONS.options("local")
class LocalAttentionConfig(AttentionOptions):
    """Attention to a window of positions (S4.3)."""

    kind: Literal["local"] = "local"
    centre: Literal["time", "predicted"] = Field(
        "predicted", description="the middle of the window is the step itself, or predicted"
    )
    window: Count = Field(0, description="positions seen on each side of the middle")
    gaussian: bool = Field(
        True, description="favour the middle by a bell curve of half the window's width"
    )


@ATTENTIONS.options("none")
class NoAttentionConfig(AttentionForm):
    """No attention: the decoder knows the source through its first state or the code."""

    kind: Literal["none"] = "none"


AttentionConfig = Annotated[AttentionForm, Choice(ATTENTIONS, default="global")]
"""Any kind of attention that is registered, or none."""
