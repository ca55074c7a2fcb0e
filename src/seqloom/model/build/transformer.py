"""Transformer encoders and decoders from their options (S5)."""

from typing import Literal

from torch import nn

from seqloom.config import (
    POSITIONS,
    AppendedSinusoidsConfig,
    JointPositionsConfig,
    LearnedPositionsConfig,
    ModelConfig,
    NoPositionsConfig,
    OneHotPositionsConfig,
    RotaryPositionsConfig,
    SinusoidsConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
    TransformerOptions,
)
from seqloom.errors import ConfigError
from seqloom.model.build.output import output_layer
from seqloom.model.build.sizes import EncoderSizes, Target
from seqloom.model.transformer import (
    PositionalEmbedding,
    TransformerDecoder,
    TransformerEncoder,
)
from seqloom.nn.embedding import Vectors
from seqloom.nn.positions import (
    AddedSinusoids,
    AppendedSinusoids,
    JointPositions,
    LearnedPositions,
    NoPositions,
    OneHotPositions,
    Positions,
)
from seqloom.nn.transformer import Block, BlockOptions

__all__ = ["transformer_decoder", "transformer_encoder"]

TransformerPart = TransformerEncoderConfig | TransformerDecoderConfig


def transformer_encoder(
    part: TransformerEncoderConfig, vectors: Vectors
) -> tuple[TransformerEncoder, EncoderSizes]:
    """The encoder and what it hands over."""
    encoder = TransformerEncoder(
        _embed(part, vectors, "model.encoder"),
        _blocks(part, "model.encoder", source=None),
        norm=_norm(part),
    )
    return encoder, EncoderSizes(part.width, (1, part.width))


def transformer_decoder(
    config: ModelConfig, part: TransformerDecoderConfig, encoded: EncoderSizes, target: Target
) -> TransformerDecoder:
    """The decoder, attending to the source, reading it, or without one."""
    way: Literal["cross", "read", "none"] = "none"
    if encoded.states is not None:
        way = "read" if part.source == "read" else "cross"
    if way == "read" and encoded.states != target.vectors.width:
        raise ConfigError(
            "model.decoder.source = 'read' needs a source of vectors as wide as the target's, "
            f"{target.vectors.width}, not {encoded.states}: use model.encoder.kind = 'vectors'"
        )
    return TransformerDecoder(
        _embed(part, target.vectors, "model.decoder"),
        _blocks(part, "model.decoder", source=encoded.states if way == "cross" else None),
        output_layer(config, part.width, target),
        norm=_norm(part),
        source=way,
    )


def _blocks(part: TransformerPart, place: str, *, source: int | None) -> list[Block]:
    if not part.head_size and part.width % part.heads:
        raise ConfigError(
            f"{place}: {part.heads} heads do not divide a width of {part.width}; change one of "
            f"them, or set {place}.head_size, the size of one"
        )
    head = part.head_size or part.width // part.heads
    if isinstance(part.positions, RotaryPositionsConfig) and head % 2:
        raise ConfigError(f"{place}: rotary positions need heads of an even size, not {head}")
    options = BlockOptions(
        width=part.width,
        inner=part.inner,
        heads=part.heads,
        head_width=head,
        value_width=part.value_size or head,
        bias=part.attention_bias,
        norm_first=part.norm == "first",
        inner_kind=part.activation,
        mixing=part.mixing,
        rotary=isinstance(part.positions, RotaryPositionsConfig),
        dropout=part.dropout,
        source=source,
    )
    return [Block(options) for _ in range(part.layers)]


def _embed(part: TransformerOptions, vectors: Vectors, place: str) -> PositionalEmbedding:
    positions = _positions(part, vectors.width, place)
    width = positions.width(vectors.width)
    if width != part.width:
        raise ConfigError(
            f"{place}: a Transformer of width {part.width} cannot read token vectors of "
            f"{vectors.width} with positions {part.positions.kind!r}, which make {width} of them; "
            f"change model.embedding or {place}.width"
        )
    return PositionalEmbedding(vectors, positions, dropout=part.dropout)


def _positions(part: TransformerOptions, vectors: int, place: str) -> Positions:
    match part.positions:
        case SinusoidsConfig():
            _check_even("model.embedding", vectors)
            return AddedSinusoids()
        case AppendedSinusoidsConfig(size=size):
            _check_even(f"{place}.positions.size", size)
            return AppendedSinusoids(size)
        case OneHotPositionsConfig(most=most):
            return OneHotPositions(most)
        case LearnedPositionsConfig(most=most):
            return LearnedPositions(most, vectors)
        case JointPositionsConfig(most=most):
            return JointPositions(most, vectors, part.width)
        case RotaryPositionsConfig() | NoPositionsConfig():
            return NoPositions()
        case _:
            raise POSITIONS.unknown(part.positions.kind)


def _check_even(name: str, size: int) -> None:
    if size % 2:
        raise ConfigError(f"{name} = {size}: sines and cosines come in pairs, so make it even")


def _norm(part: TransformerOptions) -> nn.Module:
    """Blocks that norm first leave their sum without one, so the last is normed at the end."""
    return nn.LayerNorm(part.width) if part.norm == "first" else nn.Identity()
