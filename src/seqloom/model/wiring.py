"""The wiring of recurrent decoders: the forms of S3.2, and the place of attention."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from seqloom.config import (
    ATTENTIONS,
    SCORES,
    AttentionOptions,
    GlobalAttentionConfig,
    LocalAttentionConfig,
    NoAttentionConfig,
    RecurrentDecoderConfig,
)
from seqloom.errors import ConfigError
from seqloom.model.parts import DecoderSizes
from seqloom.nn.attention import (
    Attention,
    Focus,
    HeadProjections,
    PredictedFocus,
    ScoreFunction,
    ScoreSizes,
    TimeFocus,
)

__all__ = ["AttentionSizes", "AttentionWiring", "Query", "Wiring", "build_wiring"]

Query = Callable[[Float[Tensor, "R T E"], Float[Tensor, "R D"]], Float[Tensor, "R T Q"]]
"""A function from fed-back vectors and the top layer's previous state to queries."""


@dataclass(frozen=True)
class AttentionWiring:
    """The place of attention; without `query`, the current state is the query and no step depends
    on the previous one.

    Previous state as query: Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to
    Align and Translate; current state, input feeding: Luong et al. 2015, Effective Approaches to
    Attention-based Neural Machine Translation.
    """

    attention: Attention
    query: Query | None = None  # if attention comes before the units
    sequential: bool = False  # the query is the previous state
    feed: bool = False  # input feeding


@dataclass(frozen=True)
class Wiring:
    """The inputs of a step and of its output layer: the forms of S3.2.

    Feedback: Jordan 1986, Serial Order; code: Cho et al. 2014, Learning Phrase Representations
    using RNN Encoder-Decoder.
    """

    feedback: bool = True  # (b): the previous output
    soft: bool = False  # in use, the mean embedding under its distribution (S2.2)
    code_input: bool = False  # (c)
    code_output: bool = False  # (d)
    code_first: bool = False  # (f)
    attention: AttentionWiring | None = None  # (e)

    @property
    def code(self) -> bool:
        """Whether the code is used after the initial state."""
        return self.code_input or self.code_output or self.code_first


class AttentionSizes(NamedTuple):
    """The sizes of the decoder's state, the source's states and the fed-back vectors."""

    width: int
    states: int
    vectors: int


def build_wiring(options: RecurrentDecoderConfig, sizes: DecoderSizes) -> Wiring:
    """Build the wiring from a decoder's options."""
    around = AttentionSizes(options.width, sizes.source.states or 0, sizes.vectors.width)
    return Wiring(
        feedback=options.feedback != "none",
        soft=options.feedback == "soft",
        code_input=options.code in ("input", "input-output"),
        code_output=options.code == "input-output",
        code_first=options.code == "first",
        attention=ATTENTIONS.parts[options.attention.kind](options.attention, around),
    )


@ATTENTIONS.part("none")
def no_attention(options: NoAttentionConfig, sizes: AttentionSizes) -> None:
    """No attention: the source enters through the initial state or the code."""
    return


@ATTENTIONS.part("global")
def global_attention(options: GlobalAttentionConfig, sizes: AttentionSizes) -> AttentionWiring:
    """Attention to every position."""
    return _wire(options, sizes, None)


@ATTENTIONS.part("local")
def local_attention(options: LocalAttentionConfig, sizes: AttentionSizes) -> AttentionWiring:
    """Attention to a window of positions (S4.3)."""
    return _wire(options, sizes, _focus(options, _query_size(options, sizes), sizes.width))


def _query_size(options: AttentionOptions, sizes: AttentionSizes) -> int:
    return sizes.vectors if options.query == "output" else sizes.width


def _wire(options: AttentionOptions, sizes: AttentionSizes, focus: Focus | None) -> AttentionWiring:
    attention = _attention(options, sizes, focus)
    match options.query:
        case "current":
            return AttentionWiring(attention, feed=options.feed)
        case "previous":
            return AttentionWiring(attention, _previous_state, sequential=True, feed=options.feed)
        case "output":
            return AttentionWiring(attention, _feedback_vector, feed=options.feed)


def _previous_state(
    _fed: Float[Tensor, "R T E"], top: Float[Tensor, "R D"]
) -> Float[Tensor, "R 1 D"]:
    return top[:, None]


def _feedback_vector(
    fed: Float[Tensor, "R T E"], _top: Float[Tensor, "R D"]
) -> Float[Tensor, "R T E"]:
    return fed


def _attention(options: AttentionOptions, sizes: AttentionSizes, focus: Focus | None) -> Attention:
    """Attention between queries and keys; each head compares projections of both."""
    query, key, width = _query_size(options, sizes), sizes.states, sizes.width
    part: type[ScoreFunction] = SCORES.parts[options.score]
    if options.heads == 1:
        score = part.build(options, ScoreSizes(query, key, options.size or width))
        return Attention(score, focus=focus, causal=options.causal)
    if not options.size and width % options.heads:
        raise ConfigError(
            f"{options.heads} heads do not divide a decoder of {width}",
            remedy="set model.decoder.attention.size, the size of one",
        )
    size = options.size or width // options.heads
    heads = HeadProjections(query, key, width=size, count=options.heads)
    score = part.build(options, ScoreSizes(size, size, size))
    return Attention(score, heads=heads, focus=focus, causal=options.causal)


def _focus(options: LocalAttentionConfig, query: int, width: int) -> Focus:
    if options.window < 1:
        raise ConfigError(
            "local attention needs a window",
            remedy=(
                "set model.decoder.attention.window to the positions seen on each side, for "
                "example 3"
            ),
        )
    match options.centre:
        case "time":
            return TimeFocus(options.window, gaussian=options.gaussian)
        case "predicted":
            if not options.gaussian:
                raise ConfigError(
                    "model.decoder.attention.centre = 'predicted' is learnt through the bell "
                    "curve alone",
                    remedy="leave model.decoder.attention.gaussian on",
                )
            return PredictedFocus(query, options.size or width, window=options.window)
