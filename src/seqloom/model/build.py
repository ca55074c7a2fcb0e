"""From a configuration to a model: the only place that asks which part was chosen."""

from typing import Any

from torch import nn

from seqloom.config import (
    ModelConfig,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
)
from seqloom.errors import ConfigError
from seqloom.model.recurrent import AttentiveDecoder, Bridge, Ends, RecurrentEncoder
from seqloom.model.state import Decoder, Encoder
from seqloom.model.transformer import TransformerDecoder, TransformerEncoder
from seqloom.nn.attention import Additive, Dot, General, Merge, Score
from seqloom.nn.embedding import Embedding, OutputLayer
from seqloom.nn.recurrent import RecurrentStack
from seqloom.nn.transformer import Block, BlockSize

__all__ = ["SequenceModel", "build"]


class SequenceModel(nn.Module):
    """An encoder and a decoder with parameters of their own (SPEC S3.1)."""

    def __init__(self, encoder: Encoder, decoder: Decoder[Any]) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder


def build(config: ModelConfig, *, source_size: int, target_size: int) -> SequenceModel:
    """The configured model with first weights drawn from torch's current random state."""
    source = Embedding(source_size, config.embedding)
    target = source if config.share_vocabulary else Embedding(target_size, config.embedding)
    encoder = _encoder(config, source)
    output = OutputLayer(config.embedding, target_size, tied=target if config.tie_output else None)
    return SequenceModel(encoder, _decoder(config, target, output))


def _encoder(config: ModelConfig, embedding: Embedding) -> Encoder:
    match config.encoder:
        case RecurrentEncoderConfig() as part:
            stack = RecurrentStack(
                config.embedding,
                part.width,
                layers=part.layers,
                both_directions=part.both_directions,
                dropout=part.dropout,
            )
            return RecurrentEncoder(embedding, stack, dropout=part.dropout)
        case TransformerEncoderConfig() as part:
            blocks = _blocks(config.embedding, part, source=None)
            return TransformerEncoder(embedding, blocks, norm=_norm(part), dropout=part.dropout)


def _decoder(config: ModelConfig, embedding: Embedding, output: OutputLayer) -> Decoder[Any]:
    match config.decoder:
        case RecurrentDecoderConfig() as part:
            return _attentive(config, part, embedding, output)
        case TransformerDecoderConfig() as part:
            blocks = _blocks(config.embedding, part, source=_encoded_width(config))
            return TransformerDecoder(
                embedding, blocks, output, norm=_norm(part), dropout=part.dropout
            )


def _attentive(
    config: ModelConfig, part: RecurrentDecoderConfig, embedding: Embedding, output: OutputLayer
) -> AttentiveDecoder:
    encoder, source = config.encoder, _encoded_width(config)
    if not isinstance(encoder, RecurrentEncoderConfig):
        raise ConfigError(
            "model.decoder.kind is 'recurrent' but model.encoder.kind is "
            f"{encoder.kind!r}: choose the same kind for both"
        )
    stack = RecurrentStack(
        config.embedding,
        part.width,
        layers=part.layers,
        both_directions=False,
        dropout=part.dropout,
    )
    return AttentiveDecoder(
        stack,
        Bridge((encoder.layers, source), (part.layers, part.width), parts=2),
        _score(part, source),
        Ends(embedding, Merge(part.width, source, config.embedding), output),
        dropout=part.dropout,
    )


def _score(part: RecurrentDecoderConfig, source: int) -> Score:
    match part.attention.score:
        case "general":
            return General(part.width, source)
        case "additive":
            return Additive(part.width, source, part.width)
        case "dot" | "scaled" as kind:
            if part.width != source:
                raise ConfigError(
                    f"model.decoder.attention.score = {kind!r} needs equal sizes, not a decoder of "
                    f"{part.width} and an encoder's output of {source}: use 'general'"
                )
            return Dot(source, scaled=kind == "scaled")


def _blocks(embedding: int, part: TransformerEncoderConfig, *, source: int | None) -> list[Block]:
    if part.width % part.heads:
        raise ConfigError(f"{part.heads} heads do not divide a width of {part.width}")
    if part.width != embedding:
        raise ConfigError(
            f"a Transformer of width {part.width} needs embeddings of that size: "
            f"model.embedding is {embedding}"
        )
    size = BlockSize(part.width, part.inner, part.heads, source)
    return [
        Block(size, norm_first=part.norm == "first", dropout=part.dropout)
        for _ in range(part.layers)
    ]


def _norm(part: TransformerEncoderConfig) -> nn.Module:
    """Blocks that norm first leave their sum without one, so the last is normed at the end."""
    return nn.LayerNorm(part.width) if part.norm == "first" else nn.Identity()


def _encoded_width(config: ModelConfig) -> int:
    match config.encoder:
        case RecurrentEncoderConfig() as part:
            return part.width * (2 if part.both_directions else 1)
        case TransformerEncoderConfig() as part:
            return part.width
