"""Options of the attention of recurrent decoders (S4)."""

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
    """Base of all kinds of attention: the source positions that a decoder sees."""


ATTENTIONS: Family[AttentionForm, Any] = Family(
    "kind of attention", home="seqloom.model", meaning="source positions that are attended to"
)


class AttentionOptions(AttentionForm):
    """Options of every attention with weights (S4)."""

    score: Annotated[str, NameOf(SCORES)] = Field("general", description=SCORES.meaning)
    query: Literal["current", "previous", "output"] = Field(
        "current",
        description="the query: the current state, the previous state, or the previous output",
    )
    feed: bool = Field(
        False, description="feed the attentional vector of a step into the next one (input feeding)"
    )
    heads: Layers = Field(1, description="attention heads, each with keys and queries of its own")
    size: Count = Field(
        0,
        description="size of a head's queries and keys, and of the layer inside a score; "
        "0 divides the decoder's width by the heads",
    )
    causal: bool = Field(
        False, description="let step t attend to the first t source positions only"
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
        "predicted", description="centre of the window: the step itself (monotonic), or predicted"
    )
    window: Count = Field(0, description="positions on each side of the centre")
    gaussian: bool = Field(
        True,
        description="weight the window by a Gaussian whose standard deviation is half the window",
    )


@ATTENTIONS.options("none")
class NoAttentionConfig(AttentionForm):
    """No attention: the decoder sees the source only through its initial state or the code."""

    kind: Literal["none"] = "none"


AttentionConfig = Annotated[AttentionForm, Choice(ATTENTIONS, default="global")]
"""Any kind of attention that is registered, or none."""
