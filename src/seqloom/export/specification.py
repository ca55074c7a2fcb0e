"""A Transformer's weights by the names of CTranslate2's specification (S5)."""

from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from seqloom.errors import ConfigError
from seqloom.export.runtime import require_library
from seqloom.model import SequenceModel
from seqloom.model.transformer import (
    PositionalEmbedding,
    TransformerDecoder,
    TransformerEncoder,
)
from seqloom.nn.embedding import Embedding
from seqloom.nn.modules import children_of
from seqloom.nn.positions import AddedSinusoids, HalvedSinusoids, LearnedPositions, NoPositions
from seqloom.nn.token_mixing import SelfAttention
from seqloom.nn.transformer import Block, CrossAttention
from seqloom.remedies import Command, Remedy

__all__ = ["library", "transformer_specification"]

Part = TypeVar("Part")
POSITIONS = (
    AddedSinusoids,
    HalvedSinusoids,
    LearnedPositions,
    NoPositions,
)  # encodings added as vectors


def library(name: str = "ctranslate2") -> Any:
    """Import CTranslate2 or a module of it; ConfigError if it is not installed."""
    return require_library(name, runtime="ctranslate2", extra="export")


def transformer_specification(network: SequenceModel, *, source: int, target: int) -> Any:
    """Build CTranslate2's specification, for at most `source` and `target` positions.

    ConfigError if that library lacks a part of the network.
    """
    encoder = _require(network.encoder, TransformerEncoder, "an encoder of kind {}")
    decoder = _require(network.decoder, TransformerDecoder, "a decoder of kind {}")
    if decoder.source != "cross":
        raise _refusal("a decoder without attention to the source")
    if not decoder.readout.is_affine:
        raise _refusal("a decoder with a perceptron as its read-out")
    specs = library("ctranslate2.specs")
    return specs.TransformerSpec(_encoder(encoder, source), _decoder(decoder, target))


def _encoder(encoder: TransformerEncoder, positions: int) -> Any:
    blocks = list(children_of(encoder.blocks, Block))
    spec = library("ctranslate2.specs.transformer_spec").TransformerEncoderSpec(
        len(blocks), **_options(blocks[0])
    )
    _fill_embedding(spec, spec.embeddings[0], encoder.embed, positions)
    _fill_stack(spec, blocks, encoder.norm)
    return spec


def _decoder(decoder: TransformerDecoder, positions: int) -> Any:
    blocks, output = list(children_of(decoder.blocks, Block)), decoder.output
    spec = library("ctranslate2.specs.transformer_spec").TransformerDecoderSpec(
        len(blocks), **_options(blocks[0])
    )
    _fill_embedding(spec, spec.embeddings, decoder.embed, positions)
    _fill_stack(spec, blocks, decoder.norm)
    spec.projection.weight = _values(output.matrix.table)
    if output.bias is not None:
        spec.projection.bias = _values(output.bias)
    return spec


def _options(block: Block) -> dict[str, Any]:
    """The common options of a stack's blocks; head sizes only if they are unusual."""
    sizes = _attention(block).sizes
    if sizes.key != sizes.value:
        raise _refusal(f"heads with keys of {sizes.key} and values of {sizes.value}")
    return {
        "num_heads": sizes.heads,
        "pre_norm": block.norm_first,
        "activation": _activation(block),
        "ffn_glu": _is_gated(block.network),
        "head_dim": sizes.key if sizes.heads * sizes.key != block.width else None,
    }


def _activation(block: Block) -> Any:
    kinds = library("ctranslate2.specs").Activation
    match block.network[1]:
        case nn.ReLU():
            return kinds.RELU
        case nn.SiLU():
            return kinds.SWISH
        case _:
            return kinds.GELU


def _attention(block: Block) -> SelfAttention:
    attention = _require(
        block.attention, SelfAttention, "blocks with {} in place of self-attention"
    )
    if attention.rotary is not None:
        raise _refusal("rotary positions")
    return attention


def _fill_embedding(spec: Any, table: Any, embed: PositionalEmbedding, positions: int) -> None:
    """Fill in embeddings with their scale, and explicit position encodings.

    CTranslate2's own encodings have all sines first, then all cosines; ours alternate (S5.3).
    """
    vectors = _require(embed.embedding, Embedding, "one-hot token vectors")
    places: Any = embed.positions
    if type(places) not in POSITIONS:
        raise _refusal(f"positions of kind {type(places).__name__}")
    table.weight = _values(vectors.table)
    spec.scale_embeddings = np.float32(vectors.factor)
    nothing = torch.zeros(1, positions, vectors.width)
    spec.position_encodings.encodings = _values(places(nothing, torch.arange(positions)[None])[0])


def _fill_stack(spec: Any, blocks: list[Block], norm: nn.Module) -> None:
    if blocks[0].norm_first:
        _fill_norm(spec.layer_norm, norm)
    for layer, block in zip(spec.layer, blocks, strict=True):
        attention = _attention(block)
        _fill_norm(layer.self_attention.layer_norm, block.norms[0])
        _fill_linears(layer.self_attention.linear, attention.project, attention.combine)
        if block.cross is not None:
            _fill_cross(layer.attention, block.cross, block.norms[1])
        _fill_norm(layer.ffn.layer_norm, block.norms[-1])
        _fill_network(layer.ffn, block.network)


def _fill_cross(spec: Any, cross: CrossAttention, norm: nn.Module) -> None:
    _fill_norm(spec.layer_norm, norm)
    _fill_linears(spec.linear, cross.query, cross.project, cross.combine)


def _fill_network(spec: Any, network: nn.Sequential) -> None:
    """Fill in the feed-forward network; a gated one has separate gate and content."""
    widen, narrow = _linears(network)
    _fill_linear(spec.linear_1, narrow.weight, narrow.bias)
    if not _is_gated(network):
        _fill_linear(spec.linear_0, widen.weight, widen.bias)
        return
    weights, biases = widen.weight.chunk(2), widen.bias.chunk(2)
    _fill_linear(spec.linear_0, weights[0], biases[0])
    _fill_linear(spec.linear_0_noact, weights[1], biases[1])


def _linears(network: nn.Sequential) -> tuple[nn.Linear, nn.Linear]:
    widen, narrow = (part for part in network if isinstance(part, nn.Linear))
    return widen, narrow


def _is_gated(network: nn.Sequential) -> bool:
    """Whether half of the first layer's output gates the other half."""
    widen, narrow = _linears(network)
    return widen.out_features == 2 * narrow.in_features


def _fill_linears(specs: Any, *linears: nn.Linear) -> None:
    for spec, linear in zip(specs, linears, strict=True):
        _fill_linear(spec, linear.weight, linear.bias)


def _fill_linear(spec: Any, weight: Tensor, bias: Tensor | None) -> None:
    spec.weight = _values(weight)
    if bias is not None:
        spec.bias = _values(bias)


def _fill_norm(spec: Any, norm: nn.Module) -> None:
    if not isinstance(norm, nn.LayerNorm):
        raise _refusal(f"norms of kind {type(norm).__name__}")
    spec.gamma, spec.beta = _values(norm.weight), _values(norm.bias)


def _values(tensor: Tensor) -> np.ndarray:
    values: np.ndarray = tensor.detach().float().numpy()
    return values


def _require(part: object, kind: type[Part], words: str) -> Part:
    """Check that a part has the one type that CTranslate2 supports; ConfigError otherwise."""
    if not isinstance(part, kind):
        raise _refusal(words.format(type(part).__name__))
    return part


def _refusal(part: str) -> ConfigError:
    return ConfigError(
        f"ctranslate2 takes Transformers of its own kinds, and this model has {part}",
        remedy=Remedy("use it with {}", Command("predict")),
    )
