"""A Transformer's encoder or decoder as plain arrays, and as the core takes it.

Sizes are filled up with zeros: widths and heads to 16 values, rows to 64. What is filled up stays 0
all the way through, so it changes no result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from seqloom.engine.library import BlockStructure, NormStructure, StackStructure, address
from seqloom.engine.matrices import BLOCK, Matrix, Norm, Precision, pad_to, round_up

__all__ = ["ACTIVATIONS", "AffineArrays", "BlockArrays", "Heads", "PackedStack", "StackArrays"]

ACTIVATIONS = {"identity": 0, "relu": 1, "gelu": 2, "gated": 3}
FEWEST = 256  # positions that there are vectors for at first


@dataclass(frozen=True)
class AffineArrays:
    """Weights (outputs, inputs) and bias of a linear map."""

    weights: np.ndarray
    bias: np.ndarray | None = None

    def scaled(self, factor: float) -> "AffineArrays":
        bias = None if self.bias is None else self.bias * factor
        return AffineArrays(self.weights * factor, bias)


@dataclass(frozen=True)
class Heads:
    """How many heads there are, and the sizes of their keys and values."""

    count: int
    key: int
    value: int

    @property
    def room(self) -> int:
        """What the size of a head is filled up to."""
        return round_up(max(self.key, self.value))


@dataclass(frozen=True)
class BlockArrays:
    """The parameters of a block; `project` has the maps of queries, keys and values in turn.

    Where a simple recurrent unit takes the place of self-attention, it has those of its gate and of
    its value, and there is no `combine`.
    """

    norms: Sequence[Norm]  # as many as there are steps
    project: Sequence[AffineArrays]
    combine: AffineArrays | None
    widen: AffineArrays
    narrow: AffineArrays
    query: AffineArrays | None = (
        None  # with `sources`, keys and values, and `merge`: a look at the source
    )
    sources: tuple[AffineArrays, AffineArrays] | None = None
    merge: AffineArrays | None = None


@dataclass(frozen=True)
class StackArrays:
    """The parameters of an encoder or a decoder."""

    width: int
    heads: Heads
    norm_first: bool
    activation: str
    vectors: np.ndarray  # (V, width)
    places: Callable[[int], np.ndarray]  # the vectors of so many positions: (P, width)
    blocks: Sequence[BlockArrays]
    norm: Norm | None
    angles: Callable[[int], np.ndarray] | None = None  # (P, key): sines and cosines, where turned
    mix: AffineArrays | None = (
        None  # of joint positions: what the positive part of the sum is mapped by
    )
    source_heads: Heads | None = None  # of attention to the source

    @property
    def recurrent(self) -> bool:
        """Whether a recurrent unit takes the place of self-attention."""
        return self.blocks[0].combine is None

    output: AffineArrays | None = None


def _by_heads(part: AffineArrays, heads: Heads, size: int, inputs: int) -> AffineArrays:
    """A map to heads, each filled up."""
    weights = part.weights.reshape(heads.count, size, -1)
    bias = None
    if part.bias is not None:
        bias = pad_to(part.bias.reshape(heads.count, size), heads.count, heads.room).ravel()
    full = pad_to(weights, heads.count, heads.room, round_up(inputs))
    return AffineArrays(full.reshape(heads.count * heads.room, -1), bias)


def _from_heads(part: AffineArrays, heads: Heads) -> AffineArrays:
    """A map from heads, each filled up."""
    outputs = len(part.weights)
    weights = part.weights.reshape(outputs, heads.count, heads.value)
    full = pad_to(weights, round_up(outputs), heads.count, heads.room)
    return AffineArrays(full.reshape(len(full), -1), _filled(part.bias, len(full)))


def _plain(part: AffineArrays, outputs: int, inputs: int) -> AffineArrays:
    return AffineArrays(pad_to(part.weights, outputs, inputs), _filled(part.bias, outputs))


def _filled(bias: np.ndarray | None, room: int) -> np.ndarray | None:
    return None if bias is None else pad_to(bias, room)


def _side_by_side(parts: Sequence[AffineArrays]) -> AffineArrays:
    """Several maps of the same inputs as one."""
    bias = None
    if any(part.bias is not None for part in parts):
        each = [np.zeros(len(p.weights), np.float32) if p.bias is None else p.bias for p in parts]
        bias = np.concatenate(each)
    return AffineArrays(np.concatenate([part.weights for part in parts]), bias)


@dataclass(frozen=True)
class PackedBlock:
    """A block's matrices; those of cross-attention are there or not."""

    norms: Sequence[Norm]
    matrices: dict[str, Matrix]

    @classmethod
    def of(cls, block: BlockArrays, stack: StackArrays, precision: Precision) -> "PackedBlock":
        width = round_up(stack.width)
        maps = {
            **_mixing(block, stack),
            "widen": _widened(block, stack),
            "narrow": _plain(block.narrow, width, round_up(block.narrow.weights.shape[1])),
        }
        if block.query is not None and block.merge is not None and stack.source_heads is not None:
            across = stack.source_heads
            asked = block.query.scaled(across.key**-0.5)
            maps["query"] = _by_heads(asked, across, across.key, stack.width)
            maps["merge"] = _from_heads(block.merge, across)
        matrices = {
            name: Matrix.pack(part.weights, part.bias, precision=precision)
            for name, part in maps.items()
        }
        return cls(block.norms, matrices)

    def structure(self) -> BlockStructure:
        norms = [norm.structure() for norm in self.norms]
        if len(norms) == 2:  # without a look at the source
            norms.insert(1, NormStructure())
        parts = {name: matrix.structure() for name, matrix in self.matrices.items()}
        return BlockStructure(norms=(NormStructure * 3)(*norms), **parts)


def _mixing(block: BlockArrays, stack: StackArrays) -> dict[str, AffineArrays]:
    """The maps by which positions meet."""
    heads, width = stack.heads, round_up(stack.width)
    if block.combine is None:
        return {"project": _side_by_side([_plain(part, width, width) for part in block.project])}
    query, key, value = block.project
    parts = [
        _by_heads(query.scaled(heads.key**-0.5), heads, heads.key, stack.width),
        _by_heads(key, heads, heads.key, stack.width),
        _by_heads(value, heads, heads.value, stack.width),
    ]
    return {"project": _side_by_side(parts), "combine": _from_heads(block.combine, heads)}


def _widened(block: BlockArrays, stack: StackArrays) -> AffineArrays:
    """The first map of the inner network; of a gated one, both halves filled up."""
    inner, width = round_up(block.narrow.weights.shape[1]), round_up(stack.width)
    if stack.activation != "gated":
        return _plain(block.widen, inner, width)
    weights = np.split(block.widen.weights, 2)
    biases = [None, None] if block.widen.bias is None else np.split(block.widen.bias, 2)
    halves = [AffineArrays(*half) for half in zip(weights, biases, strict=True)]
    return _side_by_side([_plain(half, inner, width) for half in halves])


@dataclass(frozen=True)
class PackedStack:
    """An encoder or a decoder, packed; `structure(P)` is what the core takes, for P positions."""

    arrays: StackArrays
    blocks: Sequence[PackedBlock]
    vectors: np.ndarray
    sources: Matrix | None
    output: Matrix | None
    mix: Matrix | None
    _made: dict[int, StackStructure] = field(default_factory=dict)

    @classmethod
    def of(cls, arrays: StackArrays, precision: Precision) -> "PackedStack":
        blocks = [PackedBlock.of(block, arrays, precision) for block in arrays.blocks]
        row = round_up(arrays.width, BLOCK)
        sources = output = None
        looks = [block.sources for block in arrays.blocks if block.sources is not None]
        if looks and arrays.source_heads is not None:
            heads = arrays.source_heads
            parts = [
                _by_heads(part, heads, size, part.weights.shape[1])
                for pair in looks
                for part, size in zip(pair, (heads.key, heads.value), strict=True)
            ]
            whole = _side_by_side(parts)
            sources = Matrix.pack(whole.weights, whole.bias, precision=precision)
        if arrays.output is not None:
            weights = arrays.output.weights
            output = Matrix.pack(
                pad_to(weights, len(weights), round_up(arrays.width)),
                arrays.output.bias,
                precision=precision,
                missing=-np.inf,
                keep_rows=True,
            )
        vectors = pad_to(arrays.vectors, len(arrays.vectors), row)
        mix = None
        if arrays.mix is not None:
            square = _plain(arrays.mix, round_up(arrays.width), round_up(arrays.width))
            mix = Matrix.pack(square.weights, square.bias, precision=precision)
        return cls(arrays, blocks, vectors, sources, output, mix)

    @property
    def stride(self) -> int:
        """Floats from one row of hidden values to the next."""
        return round_up(self.arrays.width, BLOCK)

    def structure(self, positions: int) -> StackStructure:
        """The same for the core, with vectors for at least so many positions."""
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
            vocabulary=len(self.vectors),
            positions=positions,
            crossing=self.sources is not None,
            source_heads=0 if across is None else across.count,
            source_head=0 if across is None else across.room,
            turned=angles is not None,
            joint=self.mix is not None,
            recurrent=arrays.recurrent,
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
        made.kept = (places, angles, blocks)
        return made
