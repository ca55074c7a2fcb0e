"""From the project's own modules, searches and results to the engine's, and back.

This is the only file of the engine that knows how networks and searches are made elsewhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from seqloom.engine.matrices import Norm
from seqloom.engine.stacks import AffineArrays, BlockArrays, Heads, StackArrays
from seqloom.errors import DivergedError
from seqloom.model import Decoder, Encoder, Features, Memory, Source
from seqloom.model.transformer import PositionalEmbedding, TransformerDecoder, TransformerEncoder
from seqloom.nn.embedding import Embedding, WordDropout
from seqloom.nn.modules import children_of
from seqloom.nn.positions import JointPositions, Positions
from seqloom.nn.token_mixing import Mixing, Recurrence, SelfAttention, SimpleAttention
from seqloom.nn.transformer import GEGLU, Block
from seqloom.nn.units import Ssru
from seqloom.search import Beam, Greedy, Hypothesis, Limits, PatientBeam, Ranking, Search

__all__ = [
    "Decoder",
    "DivergedError",
    "Encoder",
    "Features",
    "Hypothesis",
    "Limits",
    "Memory",
    "Search",
    "SearchPlan",
    "Source",
    "decoder_arrays",
    "encoder_arrays",
    "plan_of",
]

GREEDY, BEAM, PATIENT = range(3)


class Unfit(Exception):
    """A part that the engine has no form for; its text names the part."""


def _array(tensor: Tensor) -> np.ndarray:
    values: np.ndarray = tensor.detach().cpu().float().numpy()
    if not np.isfinite(values).all():
        raise DivergedError("the model's weights are not all numbers; train it again")
    return values


def _affine(linear: nn.Linear) -> AffineArrays:
    return AffineArrays(_array(linear.weight), None if linear.bias is None else _array(linear.bias))


def _cut(linear: nn.Linear, *sizes: int) -> tuple[AffineArrays, ...]:
    """The map of each of several groups of outputs."""
    whole = _affine(linear)
    ends = np.cumsum(sizes)[:-1]
    weights = np.split(whole.weights, ends)
    biases = [None] * len(sizes) if whole.bias is None else np.split(whole.bias, ends)
    return tuple(AffineArrays(*part) for part in zip(weights, biases, strict=True))


def _norm(module: nn.Module) -> Norm | None:
    match module:
        case nn.LayerNorm():
            return Norm.of(_array(module.weight), _array(module.bias), module.eps)
        case nn.Identity():
            return None
        case _:
            raise Unfit(f"a norm of kind {type(module).__name__}")


def encoder_arrays(encoder: Encoder) -> StackArrays | str:
    """The parameters of an encoder, or why the engine has no form for it."""
    if not isinstance(encoder, TransformerEncoder):
        return f"an encoder of kind {type(encoder).__name__}"
    try:
        stack = _stack(encoder.embed, list(children_of(encoder.blocks, Block)), encoder.norm, None)
        return "an encoder whose positions meet in a recurrent unit" if stack.recurrent else stack
    except Unfit as reason:
        return str(reason)


def decoder_arrays(decoder: Decoder[Any]) -> StackArrays | str:
    """The parameters of a decoder, or why the engine has no form for it."""
    if not isinstance(decoder, TransformerDecoder):
        return f"a decoder of kind {type(decoder).__name__}"
    if decoder.source == "read":
        return "a decoder that reads the source before it writes"
    layer = decoder.output
    bias = None if layer.bias is None else _array(layer.bias)
    output = AffineArrays(_array(layer.matrix.table), bias)
    try:
        return _stack(decoder.embed, list(children_of(decoder.blocks, Block)), decoder.norm, output)
    except Unfit as reason:
        return str(reason)


def _stack(
    embed: PositionalEmbedding, blocks: list[Block], norm: nn.Module, output: AffineArrays | None
) -> StackArrays:
    first = blocks[0]
    heads, turn = _heads(first.attention, first.width)
    vectors = embed.embedding
    if isinstance(vectors, WordDropout):
        vectors = vectors.vectors
    if not isinstance(vectors, Embedding):
        raise Unfit(f"token vectors of kind {type(vectors).__name__}")
    table, places, mix = _placed(vectors, embed.positions)
    return StackArrays(
        width=first.width,
        heads=heads,
        norm_first=first.norm_first,
        activation=_activation(first),
        vectors=table,
        places=places,
        blocks=[_block(block, heads) for block in blocks],
        norm=_norm(norm),
        angles=turn,
        output=output,
        mix=mix,
        source_heads=None if first.cross is None else Heads(*first.cross.sizes),
    )


def _placed(
    vectors: Embedding, positions: Positions
) -> tuple[np.ndarray, Callable[[int], np.ndarray], AffineArrays | None]:
    """Token vectors, what is added to them at each position, and what the sum is mapped by."""
    table = vectors.table.detach() * vectors.factor
    if isinstance(positions, JointPositions):
        learned = _array(positions.position)

        def limited(count: int) -> np.ndarray:
            return learned[np.minimum(np.arange(count), len(learned) - 1)]

        return _array(positions.vector(table)), limited, _affine(positions.mix)

    def places(count: int) -> np.ndarray:
        nothing = table.new_zeros(1, count, table.shape[1])
        return _array(positions(nothing, torch.arange(count)[None])[0])

    return _array(table), places, None


def _heads(mixing: Mixing, width: int) -> tuple[Heads, Any]:
    """The sizes of heads, and what they are turned by, if they are."""
    match mixing:
        case SelfAttention(sizes=sizes, rotary=rotary):
            heads = Heads(*sizes)
            if rotary is None:
                return heads, None

            def angles(count: int) -> np.ndarray:
                at, like = torch.arange(count)[None], torch.zeros(1, dtype=torch.float64)
                return _array(rotary.table(at, heads.key, like)[0])

            return heads, angles
        case SimpleAttention() | Recurrence(unit=Ssru()):
            return Heads(1, width, width), None
        case _:
            raise Unfit(f"positions that meet through {type(mixing).__name__}")


def _block(block: Block, heads: Heads) -> BlockArrays:
    project, combine = _mixing(block.attention, block.width, heads)
    widen, narrow = (_affine(part) for part in block.network if isinstance(part, nn.Linear))
    norms = [_norm(norm) for norm in block.norms]
    cross = block.cross
    arrays = BlockArrays(
        norms=[norm for norm in norms if norm is not None],
        project=project,
        combine=combine,
        widen=widen,
        narrow=narrow,
    )
    if cross is None:
        return arrays
    across = Heads(*cross.sizes)
    sources = _cut(cross.project, across.count * across.key, across.count * across.value)
    return BlockArrays(
        **{
            **vars(arrays),
            "query": _affine(cross.query),
            "sources": sources,
            "merge": _affine(cross.combine),
        }
    )


def _mixing(
    mixing: Mixing, width: int, heads: Heads
) -> tuple[tuple[AffineArrays, ...], AffineArrays | None]:
    """The maps of queries, keys and values, and of what attention finds; or those of a unit."""
    if isinstance(mixing, Recurrence) and isinstance(mixing.unit, Ssru):
        gate, content = _cut(mixing.unit.project, width, width)
        bias = mixing.unit.bias
        return (AffineArrays(gate.weights, None if bias is None else _array(bias)), content), None
    if isinstance(mixing, SelfAttention):
        keys, values = heads.count * heads.key, heads.count * heads.value
        query, key, value = _cut(mixing.project, keys, keys, values)
        return (query, key, value), _affine(mixing.combine)
    same = AffineArrays(np.eye(width, dtype=np.float32))
    return (same.scaled(math.sqrt(width)), same, same), same  # whose products are x·x


def _activation(block: Block) -> str:
    match block.network[1]:
        case nn.ReLU():
            return "relu"
        case nn.GELU():
            return "gelu"
        case GEGLU():
            return "gated"
        case other:
            raise Unfit(f"an activation of kind {type(other).__name__}")


@dataclass(frozen=True)
class SearchPlan:
    """A search as the core carries it out."""

    kind: int
    width: int = 1
    n_best: int = 1
    enough: int = 1
    first: bool = False
    ranking: Ranking = Ranking()  # noqa: RUF009  (it is frozen)


def plan_of(search: Search, limits: Limits) -> SearchPlan | None:
    """How the core carries out a search, or None where Python has to, step by step."""
    if limits.prefix or limits.required or limits.rules or limits.n_alternatives:
        return None
    match search:
        case Greedy():
            return SearchPlan(GREEDY)
        case Beam(ranking=Ranking(coverage=0.0) as ranking, patience=None):
            return SearchPlan(
                BEAM, search.width, search.n_best, first=search.first, ranking=ranking
            )
        case PatientBeam(ranking=Ranking(coverage=0.0) as ranking):
            return SearchPlan(
                PATIENT, search.width, search.n_best, search.max_finished, ranking=ranking
            )
    return None
