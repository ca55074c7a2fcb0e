"""The attention of a recurrent decoder from its options (S4)."""

import math

from jaxtyping import Float
from torch import Tensor

from seqloom.config import SCORES, AttentionOptions, LocalAttentionConfig
from seqloom.errors import ConfigError
from seqloom.model.build.sizes import EncoderSizes, Target
from seqloom.model.recurrent import AttentionWiring
from seqloom.nn.attention import (
    AdditiveScore,
    Attention,
    ConcatScore,
    DotScore,
    Focus,
    GeneralScore,
    HeadProjections,
    MLPScore,
    PredictedFocus,
    ScoreFunction,
    TimeFocus,
)

__all__ = ["attention_wiring"]


def attention_wiring(
    part: AttentionOptions, width: int, encoded: EncoderSizes, target: Target
) -> AttentionWiring:
    """Attention of a decoder of this width to what was encoded."""
    key = encoded.states or 0
    match part.query:
        case "current":
            return AttentionWiring(_attention(part, (width, key), width), feed=part.feed)
        case "previous":
            attention = _attention(part, (width, key), width)
            return AttentionWiring(attention, _previous_state, sequential=True, feed=part.feed)
        case "output":
            attention = _attention(part, (target.vectors.width, key), width)
            return AttentionWiring(attention, _feedback_vector, feed=part.feed)


def _previous_state(
    _fed: Float[Tensor, "R T E"], top: Float[Tensor, "R D"]
) -> Float[Tensor, "R 1 D"]:
    return top[:, None]


def _feedback_vector(
    fed: Float[Tensor, "R T E"], _top: Float[Tensor, "R D"]
) -> Float[Tensor, "R T E"]:
    return fed


def _attention(part: AttentionOptions, sizes: tuple[int, int], width: int) -> Attention:
    """Attention between queries and keys of these sizes; heads compare maps of both."""
    focus = None
    if isinstance(part, LocalAttentionConfig):
        focus = _focus(part, sizes[0], part.size or width)
    if part.heads == 1:
        score = _score(part, sizes, part.size or width)
        return Attention(score, focus=focus, causal=part.causal)
    if not part.size and width % part.heads:
        raise ConfigError(
            f"{part.heads} heads do not divide a decoder of {width}: "
            "set model.decoder.attention.size, the size of one"
        )
    size = part.size or width // part.heads
    heads = HeadProjections(*sizes, width=size, count=part.heads)
    return Attention(_score(part, (size, size), size), heads=heads, focus=focus, causal=part.causal)


def _score(part: AttentionOptions, sizes: tuple[int, int], inner: int) -> ScoreFunction:
    match part.score:
        case "dot" | "scaled" as kind:
            if sizes[0] != sizes[1]:
                raise ConfigError(
                    f"model.decoder.attention.score = {kind!r} needs equal sizes, not a query of "
                    f"{sizes[0]} and an encoder's output of {sizes[1]}: use 'general'"
                )
            return DotScore(factor=1 / math.sqrt(sizes[0]) if kind == "scaled" else 1.0)
        case "general":
            return GeneralScore(*sizes)
        case "scaled-general":
            return GeneralScore(*sizes, factor=1 / math.sqrt(max(sizes)))
        case "additive":
            return AdditiveScore(*sizes, inner)
        case "concatenation":
            return ConcatScore(*sizes, inner)
        case "perceptron":
            return MLPScore(*sizes, inner)
        case _:
            raise SCORES.unknown(part.score)


def _focus(part: LocalAttentionConfig, query: int, inner: int) -> Focus:
    if part.window < 1:
        raise ConfigError(
            "local attention needs a window: set model.decoder.attention.window to the positions "
            "seen on each side, for example 3"
        )
    match part.centre:
        case "time":
            return TimeFocus(part.window, gaussian=part.gaussian)
        case "predicted":
            if not part.gaussian:
                raise ConfigError(
                    "model.decoder.attention.centre = 'predicted' is learnt through the bell curve "
                    "alone: leave model.decoder.attention.gaussian on"
                )
            return PredictedFocus(query, inner, window=part.window)
