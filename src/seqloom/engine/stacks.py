"""A Transformer's encoder or decoder as plain arrays, and packed for the core.

Sizes are zero-padded: widths and heads to multiples of 16, rows to multiples of 64. Padding stays 0
throughout, so it does not change results.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from seqloom.engine.library import BlockStructure, NormStructure, StackStructure, address
from seqloom.engine.matrices import Matrix, Norm, Precision, pad_to, round_up
from seqloom.engine.packed import (
    ACTIVATIONS,
    AffineArrays,
    FrontEndCall,
    PackedStack,
    ReadingTurn,
    Vectorizer,
    pack_output,
    stack_outputs,
    turn_structure,
    vector_table,
)

__all__ = ["BlockArrays", "Heads", "PackedStack", "PackedTransformer", "StackArrays"]

FEWEST = 256  # initial number of position vectors


@dataclass(frozen=True)
class Heads:
    """The number of heads, and the sizes of their keys and values."""

    count: int
    key: int
    value: int

    @property
    def room(self) -> int:
        """The padded size of a head."""
        return round_up(max(self.key, self.value))


@dataclass(frozen=True)
class BlockArrays:
    """The parameters of a block; `project` has the maps of queries, keys and values in turn.

    A simple recurrent unit in place of self-attention has the maps of its gate and value, and no
    `combine`.
    """

    norms: Sequence[Norm]  # one per residual step
    project: Sequence[AffineArrays]
    combine: AffineArrays | None
    widen: AffineArrays
    narrow: AffineArrays
    query: AffineArrays | None = None  # cross-attention: `sources` for keys and values, and `merge`
    sources: tuple[AffineArrays, AffineArrays] | None = None
    merge: AffineArrays | None = None


@dataclass(frozen=True)
class StackArrays:
    """The parameters of an encoder or a decoder."""

    width: int
    heads: Heads
    norm_first: bool
    activation: str
    vectors: np.ndarray | None  # (V, width)
    places: Callable[[int], np.ndarray]  # maps a number of positions to their vectors: (P, width)
    blocks: Sequence[BlockArrays]
    norm: Norm | None
    angles: Callable[[int], np.ndarray] | None = None  # (P, key): sines and cosines, where turned
    mix: AffineArrays | None = None  # map of a joint embedding, after its rectifier
    source_heads: Heads | None = None  # of attention to the source

    output: AffineArrays | None = None
    reads_prefix: bool = False  # of a decoder: what the encoder gives, before the first token
    turn: ReadingTurn | None = None
    vectorizer: Vectorizer | None = None  # in place of a table of vectors
    front: FrontEndCall | None = None

    @property
    def recurrent(self) -> bool:
        """Whether recurrent units replace self-attention."""
        return self.blocks[0].combine is None

    def with_turn(self, turn: ReadingTurn) -> "StackArrays":
        """The parameters of an encoder that reads backwards."""
        return replace(self, turn=turn)

    def with_front(self, front: FrontEndCall) -> "StackArrays":
        """The parameters of an encoder with a front end."""
        return replace(self, front=front)

    def pack(self, precision: Precision) -> "PackedTransformer":
        """Pack the parameters for the core."""
        return PackedTransformer.of_arrays(self, precision)


def _by_heads(part: AffineArrays, heads: Heads, size: int, inputs: int) -> AffineArrays:
    """A map to heads, each padded."""
    weights = part.weights.reshape(heads.count, size, -1)
    bias = None
    if part.bias is not None:
        bias = pad_to(part.bias.reshape(heads.count, size), heads.count, heads.room).ravel()
    full = pad_to(weights, heads.count, heads.room, round_up(inputs))
    return AffineArrays(full.reshape(heads.count * heads.room, -1), bias)


def _from_heads(part: AffineArrays, heads: Heads) -> AffineArrays:
    """A map from heads, each padded."""
    outputs = len(part.weights)
    weights = part.weights.reshape(outputs, heads.count, heads.value)
    full = pad_to(weights, round_up(outputs), heads.count, heads.room)
    bias = None if part.bias is None else pad_to(part.bias, len(full))
    return AffineArrays(full.reshape(len(full), -1), bias)


@dataclass(frozen=True)
class PackedBlock:
    """A block's matrices; those of cross-attention are optional."""

    norms: Sequence[Norm]
    matrices: dict[str, Matrix]

    @classmethod
    def of(cls, block: BlockArrays, stack: StackArrays, precision: Precision) -> "PackedBlock":
        width = round_up(stack.width)
        maps = {
            **_mixing(block, stack),
            "widen": _first_map(block, stack),
            "narrow": block.narrow.pad(width, round_up(block.narrow.weights.shape[1])),
        }
        if block.query is not None and block.merge is not None and stack.source_heads is not None:
            across = stack.source_heads
            asked = block.query.scale(across.key**-0.5)
            maps["query"] = _by_heads(asked, across, across.key, stack.width)
            maps["merge"] = _from_heads(block.merge, across)
        return cls(block.norms, {name: part.pack(precision) for name, part in maps.items()})

    def structure(self) -> BlockStructure:
        norms = [norm.structure() for norm in self.norms]
        if len(norms) == 2:  # without cross-attention
            norms.insert(1, NormStructure())
        parts = {name: matrix.structure() for name, matrix in self.matrices.items()}
        return BlockStructure(norms=(NormStructure * 3)(*norms), **parts)


def _mixing(block: BlockArrays, stack: StackArrays) -> dict[str, AffineArrays]:
    """The maps of self-attention or of the recurrent unit."""
    heads, width = stack.heads, round_up(stack.width)
    if block.combine is None:
        return {"project": stack_outputs([part.pad(width, width) for part in block.project])}
    query, key, value = block.project
    parts = [
        _by_heads(query.scale(heads.key**-0.5), heads, heads.key, stack.width),
        _by_heads(key, heads, heads.key, stack.width),
        _by_heads(value, heads, heads.value, stack.width),
    ]
    return {"project": stack_outputs(parts), "combine": _from_heads(block.combine, heads)}


def _first_map(block: BlockArrays, stack: StackArrays) -> AffineArrays:
    """The first map of the feed-forward network; both halves of a gated one are padded."""
    inner, width = round_up(block.narrow.weights.shape[1]), round_up(stack.width)
    if stack.activation != "gated":
        return block.widen.pad(inner, width)
    return block.widen.pad_groups(2, inner)


@dataclass(frozen=True, kw_only=True)
class PackedTransformer(PackedStack):
    """A packed Transformer encoder or decoder."""

    arrays: StackArrays
    blocks: Sequence[PackedBlock]
    sources: Matrix | None
    mix: Matrix | None
    _made: dict[int, StackStructure] = field(default_factory=dict)

    @classmethod
    def of_arrays(cls, arrays: StackArrays, precision: Precision) -> "PackedTransformer":
        """Pack parameters."""
        blocks = [PackedBlock.of(block, arrays, precision) for block in arrays.blocks]
        sources = output = mix = None
        looks = [block.sources for block in arrays.blocks if block.sources is not None]
        if looks and arrays.source_heads is not None:
            heads = arrays.source_heads
            parts = [
                _by_heads(part, heads, size, part.weights.shape[1])
                for pair in looks
                for part, size in zip(pair, (heads.key, heads.value), strict=True)
            ]
            sources = stack_outputs(parts).pack(precision)
        if arrays.output is not None:
            output = pack_output(arrays.output, precision)
        if arrays.mix is not None:
            square = arrays.mix.pad(round_up(arrays.width), round_up(arrays.width))
            mix = square.pack(precision)
        return cls(
            width=arrays.width,
            vectors=vector_table(arrays.vectors, arrays.width),
            vectorizer=arrays.vectorizer,
            front=arrays.front,
            output=output,
            reads_source=sources is not None,
            attends=sources is not None,
            reads_prefix=arrays.reads_prefix,
            arrays=arrays,
            blocks=blocks,
            sources=sources,
            mix=mix,
        )

    def structure(self, positions: int) -> StackStructure:
        """The core's structure, with vectors for at least `positions` positions."""
        room = max(FEWEST, 1 << (positions - 1).bit_length())
        if room not in self._made:
            self._made[room] = self._structure(room)
        return self._made[room]

    def _structure(self, positions: int) -> StackStructure:
        arrays, heads, across = self.arrays, self.arrays.heads, self.arrays.source_heads
        places = pad_to(arrays.places(positions), positions, self.stride)
        angles = None
        if arrays.angles is not None:
            angles = pad_to(arrays.angles(positions), positions, heads.room)
        blocks = (BlockStructure * len(self.blocks))(*(b.structure() for b in self.blocks))
        made = StackStructure(
            width=round_up(arrays.width),
            heads=heads.count,
            head=heads.room,
            layers=len(blocks),
            norm_first=arrays.norm_first,
            activation=ACTIVATIONS[arrays.activation],
            vocabulary=self.vocabulary,
            positions=positions,
            crossing=self.sources is not None,
            source_heads=0 if across is None else across.count,
            source_head=0 if across is None else across.room,
            turned=angles is not None,
            joint=self.mix is not None,
            ssru=arrays.recurrent,
            prefix=arrays.reads_prefix,
            input=arrays.width,
            real=arrays.width,
            vectors=address(self.vectors),
            places=address(places),
            angles=address(angles),
            blocks=blocks,
        )
        if arrays.norm is not None:
            made.norm = arrays.norm.structure()
        if self.mix is not None:
            made.mix = self.mix.structure()
        if self.sources is not None:
            made.sources = self.sources.structure()
        if self.output is not None:
            made.output = self.output.structure()
        turn_structure(made, arrays.turn)
        made.kept = (places, angles, blocks)
        return made
