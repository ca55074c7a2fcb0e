"""Recurrent encoders and decoders from their options."""

from collections.abc import Callable, Sequence
from functools import partial

from seqloom.config import (
    UNITS,
    AttentionOptions,
    ElmanConfig,
    GruConfig,
    LstmConfig,
    ModelConfig,
    NoAttentionConfig,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    SsruConfig,
    UnitConfig,
)
from seqloom.errors import ConfigError
from seqloom.model.build.attention import attention_wiring
from seqloom.model.build.output import output_layer
from seqloom.model.build.sizes import EncoderSizes, Target
from seqloom.model.encoders import RecurrentEncoder
from seqloom.model.initial_state import Bridge, CopiedState, InitialState, OwnState, ReadState
from seqloom.model.recurrent import AttentionWiring, RecurrentDecoder, VocabularyLayers, Wiring
from seqloom.nn.combine import ConcatCombiner, SumCombiner, TanhCombiner
from seqloom.nn.embedding import Vectors
from seqloom.nn.recurrent import AroundStack, Direction, RecurrentStack, StackOptions
from seqloom.nn.units import Elman, Gru, Lstm, Ssru, Unit

__all__ = ["recurrent_decoder", "recurrent_encoder"]


def recurrent_encoder(
    part: RecurrentEncoderConfig, vectors: Vectors
) -> tuple[RecurrentEncoder, EncoderSizes]:
    """The encoder and what it hands over."""
    stack: RecurrentStack | AroundStack
    match part.direction:
        case "around":
            new_unit = _new_unit(part.unit)
            stack = AroundStack(vectors.width, part.width, new_unit, _options(part, "forward"))
        case "both" | "forward" | "backward" as direction:
            stack = _stack(part, vectors.width, direction)
    encoder = RecurrentEncoder(vectors, stack, dropout=part.dropout)
    around = isinstance(stack, AroundStack)
    return encoder, EncoderSizes(stack.width, (part.layers, stack.width), stack.parts, around)


def recurrent_decoder(
    config: ModelConfig, part: RecurrentDecoderConfig, encoded: EncoderSizes, target: Target
) -> RecurrentDecoder:
    """The decoder in the form that its options give (S3.2)."""
    _check(part, encoded, target)
    wiring = _wiring(part, encoded, target)
    code = encoded.code[1] if encoded.code else 0
    context = _context(wiring.attention, encoded)
    shown = [part.width, *context, *([code] if wiring.code_output else [])]
    readout = _readout(config, part, shown)
    fed = [readout.width] if wiring.attention is not None and wiring.attention.feed else []
    asked_first = wiring.attention is not None and wiring.attention.query is not None
    entering = [
        *([target.vectors.width] if wiring.feedback else []),
        *([code] if wiring.code_input or wiring.code_first else []),
        *(context if asked_first else []),
        *fed,
    ]
    join = (SumCombiner if part.join == "sum" else ConcatCombiner)(entering or [1])
    stack = _stack(part, join.width, "forward")
    ends = VocabularyLayers(
        target.vectors, join, readout, output_layer(config, readout.width, target)
    )
    first = _initial_state(part, encoded, stack.parts)
    return RecurrentDecoder(stack, first, ends, wiring, dropout=part.dropout)


def _stack(
    part: RecurrentEncoderConfig | RecurrentDecoderConfig, inputs: int, direction: Direction
) -> RecurrentStack:
    """The layers of either side."""
    return RecurrentStack(inputs, part.width, _new_unit(part.unit), _options(part, direction))


def _options(
    part: RecurrentEncoderConfig | RecurrentDecoderConfig, direction: Direction
) -> StackOptions:
    return StackOptions(
        layers=part.layers,
        direction=direction,
        dropout=part.dropout,
        residual=part.residual,
        layer_norm=part.layer_norm,
        trainable_state=part.first_state == "learnt",
    )


def _wiring(part: RecurrentDecoderConfig, encoded: EncoderSizes, target: Target) -> Wiring:
    attention = part.attention
    found = None
    if isinstance(attention, AttentionOptions):
        found = attention_wiring(attention, part.width, encoded, target)
    return Wiring(
        feedback=part.feedback != "none",
        soft=part.feedback == "soft",
        code_input=part.code in ("input", "input-output"),
        code_output=part.code == "input-output",
        code_first=part.code == "first",
        attention=found,
    )


def _context(looking: AttentionWiring | None, encoded: EncoderSizes) -> list[int]:
    if looking is None or encoded.states is None:
        return []
    return [looking.attention.context_factor * encoded.states]


def _readout(
    config: ModelConfig, part: RecurrentDecoderConfig, shown: Sequence[int]
) -> ConcatCombiner | TanhCombiner:
    match part.readout:
        case "affine":
            return ConcatCombiner(shown)
        case "perceptron":
            return TanhCombiner(shown, part.width if config.one_hot else config.embedding)


def _initial_state(part: RecurrentDecoderConfig, encoded: EncoderSizes, parts: int) -> InitialState:
    size = (part.layers, part.width)
    match part.first_state:
        case "zero" | "learnt":
            return OwnState(part.layers)
        case "read":
            return ReadState()
        case "map":
            return Bridge(
                encoded.code or (0, 0),
                size,
                parts=parts,
                activation=part.map_activation,
                bias=part.map_bias,
            )
        case "copy":
            if (encoded.code, encoded.parts) != (size, parts):
                layers, width = encoded.code or (0, 0)
                raise ConfigError(
                    "model.decoder.first_state = 'copy' needs equal states, not an encoder's of "
                    f"{layers} × {width} in {encoded.parts} parts and a decoder's of "
                    f"{size[0]} × {size[1]} in {parts}: use 'map'"
                )
            return CopiedState()


def _check(part: RecurrentDecoderConfig, encoded: EncoderSizes, target: Target) -> None:
    """ConfigError where the decoder asks for what its encoder does not give."""
    attends = not isinstance(part.attention, NoAttentionConfig)
    if encoded.states is None:
        wanted = {
            "model.decoder.attention": attends,
            "model.decoder.code": part.code != "none",
            f"model.decoder.first_state = {part.first_state!r}": part.first_state
            in ("map", "copy", "read"),
        }
        for name, asked in wanted.items():
            if asked:
                raise ConfigError(
                    f"{name} needs a source, and model.encoder.kind is 'none': set "
                    "model.decoder.attention=none, code=none and first_state=zero"
                )
    if part.first_state == "read":
        _check_reading(part, encoded, target)


def _check_reading(part: RecurrentDecoderConfig, encoded: EncoderSizes, target: Target) -> None:
    """One network reads the source and writes: both must enter it in the same way."""
    attention = part.attention
    early = isinstance(attention, AttentionOptions) and (
        attention.query != "current" or attention.feed
    )
    if part.code != "none" or early or part.feedback == "none":
        raise ConfigError(
            "model.decoder.first_state = 'read' lets one network read source and output alike: set "
            "feedback=token or soft, code=none, attention.query=current and attention.feed=false"
        )
    if encoded.states != target.vectors.width:
        raise ConfigError(
            "model.decoder.first_state = 'read' needs a source of vectors as wide as the target's, "
            f"{target.vectors.width}, not {encoded.states}: use model.encoder.kind = 'vectors'"
        )


def _new_unit(part: UnitConfig) -> Callable[[int, int], Unit]:
    bias, weights = part.bias, part.weights
    match part:
        case LstmConfig(dropout=dropout):
            return partial(Lstm, bias=bias, weights=weights, dropout=dropout)
        case GruConfig(reset=reset, update=update, dropout=dropout):
            return partial(
                Gru, reset=reset, update=update, bias=bias, weights=weights, dropout=dropout
            )
        case ElmanConfig(activation=activation, dropout=dropout):
            return partial(
                Elman, activation=activation, bias=bias, weights=weights, dropout=dropout
            )
        case SsruConfig():
            return partial(Ssru, bias=bias, weights=weights)
        case _:
            raise UNITS.unknown(part.kind)
