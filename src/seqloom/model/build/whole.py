"""A model as a whole: token vectors, an encoder, a decoder or a head."""

from typing import Any

from torch import nn

from seqloom.config import (
    DecoderConfig,
    LabelHeadConfig,
    ModelConfig,
    NoEncoderConfig,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    TagsHeadConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
    VectorsEncoderConfig,
)
from seqloom.errors import ConfigError
from seqloom.model.build.recurrent import recurrent_decoder, recurrent_encoder
from seqloom.model.build.sizes import Encoded, Target
from seqloom.model.build.transformer import transformer_decoder, transformer_encoder
from seqloom.model.encoders import NoEncoder, ReversedEncoder, VectorsEncoder
from seqloom.model.heads import CodePool, LabelHead, MaximumPool, MeanPool, TagsHead
from seqloom.model.state import Decoder, Encoder, Head
from seqloom.nn.embedding import Embedding, OneHot, TokenVectors

__all__ = ["SequenceModel", "build", "build_head"]


class SequenceModel(nn.Module):
    """An encoder and a decoder with parameters of their own (SPEC S3.1)."""

    def __init__(self, encoder: Encoder, decoder: Decoder[Any]) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder


def build(config: ModelConfig, *, source_size: int, target_size: int) -> SequenceModel:
    """The configured model with first weights drawn from torch's current random state."""
    source = _vectors(config, source_size)
    target = source if config.share_vocabulary else _vectors(config, target_size)
    encoder, encoded = _encoder(config, source)
    return SequenceModel(encoder, _decoder(config, encoded, Target(target, target_size)))


def build_head(config: ModelConfig, *, source_size: int, labels: int) -> tuple[Encoder, Head]:
    """The configured encoder and the head over it (SPEC S5.6, encoder only)."""
    encoder, encoded = _encoder(config, _vectors(config, source_size))
    if encoded.states is None:
        raise ConfigError("a label or tags need an encoder: model.encoder.kind is 'none'")
    match config.decoder:
        case TagsHeadConfig():
            return encoder, TagsHead(encoded.states, labels)
        case LabelHeadConfig(pool=pool):
            pools = {"code": CodePool, "mean": MeanPool, "max": MaximumPool}
            return encoder, LabelHead(pools[pool](), encoded.states, labels)
        case _ as part:
            raise ConfigError(
                f"model.decoder.kind = {part.kind!r} writes text: choose label or tags"
            )


def _vectors(config: ModelConfig, size: int) -> TokenVectors:
    if not config.one_hot:
        return Embedding(size, config.embedding)
    if config.tie_output:
        raise ConfigError(
            "model.one_hot leaves no embedding table for the output layer to share: "
            "set model.tie_output=false"
        )
    return OneHot(size)


def _encoder(config: ModelConfig, vectors: TokenVectors) -> tuple[Encoder, Encoded]:
    encoder, encoded = _reader(config, vectors)
    if config.reverse_source:
        encoder = ReversedEncoder(encoder, turned=_reads(config.decoder))
    return encoder, encoded


def _reads(part: DecoderConfig) -> bool:
    """Whether the decoder reads the source in turn, before it writes (SPEC S3.2 g)."""
    match part:
        case RecurrentDecoderConfig(first_state="read") | TransformerDecoderConfig(source="read"):
            return True
        case _:
            return False


def _reader(config: ModelConfig, vectors: TokenVectors) -> tuple[Encoder, Encoded]:
    match config.encoder:
        case RecurrentEncoderConfig() as part:
            return recurrent_encoder(part, vectors)
        case TransformerEncoderConfig() as part:
            return transformer_encoder(part, vectors)
        case VectorsEncoderConfig():
            return VectorsEncoder(vectors), Encoded(vectors.width, (1, vectors.width))
        case NoEncoderConfig():
            return NoEncoder(), Encoded()


def _decoder(config: ModelConfig, encoded: Encoded, target: Target) -> Decoder[Any]:
    match config.decoder:
        case RecurrentDecoderConfig() as part:
            return recurrent_decoder(config, part, encoded, target)
        case TransformerDecoderConfig() as part:
            return transformer_decoder(config, part, encoded, target)
        case LabelHeadConfig() | TagsHeadConfig() as part:
            raise ConfigError(
                f"model.decoder.kind = {part.kind!r} gives labels, not text: "
                "choose recurrent or transformer"
            )
