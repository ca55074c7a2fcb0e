"""Transformers as plain arrays."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqloom.engine.exporters.parts import (
    TorchVectors,
    UnfitError,
    affine,
    array,
    decoder_form,
    decoder_table,
    encoder_form,
    norm_form,
    output_arrays,
    token_table,
)
from seqloom.engine.packed import AffineArrays, SideArrays
from seqloom.engine.stacks import BlockArrays, Heads, StackArrays
from seqloom.model.transformer import PositionalEmbedding, TransformerDecoder, TransformerEncoder
from seqloom.nn.modules import children_of
from seqloom.nn.positions import JointPositions, Positions, Rotary
from seqloom.nn.token_mixing import Recurrence, SelfAttention, SimpleAttention
from seqloom.nn.transformer import GEGLU, Block
from seqloom.nn.units import Ssru

__all__ = ["mixing_form"]


class MixingArrays(NamedTuple):
    """The mixing of positions: maps of queries, keys, values and output, or of a simple recurrent
    unit's gate and value; with the sizes of heads, and the rotary angles, if any.
    """

    heads: Heads
    project: Sequence[AffineArrays]
    combine: AffineArrays | None
    angles: Callable[[int], np.ndarray] | None = None


class PlacedVectors(NamedTuple):
    """Token vectors, or the layer that maps other items; position vectors, and the map of their
    sum.
    """

    table: np.ndarray | None
    places: Callable[[int], np.ndarray]
    mix: AffineArrays | None = None
    after: nn.Linear | None = None


@encoder_form.register
def _(encoder: TransformerEncoder) -> SideArrays:
    stack = _stack(encoder.embed, list(children_of(encoder.blocks, Block)), encoder.norm, None)
    if stack.recurrent:
        raise UnfitError("an encoder whose positions meet in a recurrent unit")
    return stack


@decoder_form.register
def _(decoder: TransformerDecoder) -> SideArrays:
    decoder_table(decoder.embed.embedding)
    if not decoder.readout.is_affine:
        raise UnfitError("a Transformer decoder with a perceptron as its read-out")
    blocks = list(children_of(decoder.blocks, Block))
    stack = _stack(decoder.embed, blocks, decoder.norm, output_arrays(decoder.output))
    if decoder.source == "read" and stack.mix is not None:
        raise UnfitError("a decoder that reads the source's vectors at joint positions")
    return replace(stack, reads_prefix=decoder.source == "read")


def _stack(
    embed: PositionalEmbedding, blocks: list[Block], norm: nn.Module, output: AffineArrays | None
) -> StackArrays:
    first = blocks[0]
    mixings = [mixing_form(block.attention, block.width) for block in blocks]
    width, table = embed.embedding.width, token_table(embed.embedding)
    vectors = positions_form(embed.positions, table, width)
    given = TorchVectors(embed.embedding, vectors.after) if table is None else None
    return StackArrays(
        width=first.width,
        heads=mixings[0].heads,
        norm_first=first.norm_first,
        activation=activation_form(first.network[1]),
        vectors=vectors.table,
        places=vectors.places,
        blocks=[_block(*each) for each in zip(blocks, mixings, strict=True)],
        norm=norm_form(norm),
        angles=mixings[0].angles,
        output=output,
        mix=vectors.mix,
        vectorizer=given,
        source_heads=None if first.cross is None else Heads(*first.cross.sizes),
    )


@singledispatch
def positions_form(positions: Positions, table: Tensor | None, width: int) -> PlacedVectors:
    """Token vectors of this width, with their position vectors."""

    def places(count: int) -> np.ndarray:
        nothing = torch.zeros(1, count, width)
        return array(positions(nothing, torch.arange(count)[None])[0])

    return PlacedVectors(None if table is None else array(table), places)


@positions_form.register
def _(positions: JointPositions, table: Tensor | None, width: int) -> PlacedVectors:
    learned = array(positions.position)

    def places(count: int) -> np.ndarray:
        return learned[np.minimum(np.arange(count), len(learned) - 1)]

    made = None if table is None else array(positions.vector(table))
    return PlacedVectors(made, places, affine(positions.mix), positions.vector)


@singledispatch
def mixing_form(mixing: Any, width: int) -> MixingArrays:
    """The mixing of positions in a block of this width."""
    raise UnfitError(f"positions that meet through {type(mixing).__name__}")


@mixing_form.register
def _(mixing: SelfAttention, width: int) -> MixingArrays:
    heads = Heads(*mixing.sizes)
    keys, values = heads.count * heads.key, heads.count * heads.value
    project = affine(mixing.project).split(keys, keys, values)
    angles = None if mixing.rotary is None else _angles(mixing.rotary, heads.key)
    return MixingArrays(heads, project, affine(mixing.combine), angles)


@mixing_form.register
def _(mixing: SimpleAttention, width: int) -> MixingArrays:
    same = AffineArrays(np.eye(width, dtype=np.float32))
    project = same.scale(math.sqrt(width)), same, same  # whose products are x·x
    return MixingArrays(Heads(1, width, width), project, same)


@mixing_form.register
def _(mixing: Recurrence, width: int) -> MixingArrays:
    project = simple_unit_form(mixing.unit)
    return MixingArrays(Heads(1, width, width), project, None)


@singledispatch
def simple_unit_form(unit: Any) -> Sequence[AffineArrays]:
    """The maps of a simple recurrent unit's gate and value."""
    raise UnfitError(f"positions that meet through {type(unit).__name__}")


@simple_unit_form.register
def _(unit: Ssru) -> Sequence[AffineArrays]:
    gate, content = affine(unit.project).split(unit.width, unit.width)
    bias = None if unit.bias is None else array(unit.bias)
    return AffineArrays(gate.weights, bias), content


def _angles(rotary: Rotary, size: int) -> Callable[[int], np.ndarray]:
    """A function of a number of positions: sines and cosines of rotary angles for heads of this
    size.
    """

    def angles(count: int) -> np.ndarray:
        at, like = torch.arange(count)[None], torch.zeros(1, dtype=torch.float64)
        return array(rotary.table(at, size, like)[0])

    return angles


def _block(block: Block, mixing: MixingArrays) -> BlockArrays:
    widen, narrow = (affine(part) for part in block.network if isinstance(part, nn.Linear))
    norms = [norm_form(norm) for norm in block.norms]
    cross = block.cross
    arrays = BlockArrays(
        norms=[norm for norm in norms if norm is not None],
        project=mixing.project,
        combine=mixing.combine,
        widen=widen,
        narrow=narrow,
    )
    if cross is None:
        return arrays
    across = Heads(*cross.sizes)
    keys, values = affine(cross.project).split(
        across.count * across.key, across.count * across.value
    )
    return BlockArrays(
        **{
            **vars(arrays),
            "query": affine(cross.query),
            "sources": (keys, values),
            "merge": affine(cross.combine),
        }
    )


@singledispatch
def activation_form(module: Any) -> str:
    """The name of an activation."""
    raise UnfitError(f"an activation of kind {type(module).__name__}")


@activation_form.register
def _(module: nn.ReLU) -> str:
    return "relu"


@activation_form.register
def _(module: nn.GELU) -> str:
    return "gelu"


@activation_form.register
def _(module: nn.SiLU) -> str:
    return "swish"


@activation_form.register
def _(module: GEGLU) -> str:
    return "gated"
