"""Common parts of packed encoders and decoders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from seqloom.engine.library import StackStructure
from seqloom.engine.matrices import BLOCK, Matrix, Precision, pad_to, round_up

__all__ = [
    "ACTIVATIONS",
    "AffineArrays",
    "FrontEndCall",
    "HeadArrays",
    "NoSourceArrays",
    "PackedStack",
    "ReadingTurn",
    "SideArrays",
    "Vectorizer",
    "pack_output",
    "stack_outputs",
    "turn_structure",
    "vector_table",
]

ACTIVATIONS = {
    "identity": 0,
    "relu": 1,
    "gelu": 2,
    "gated": 3,
    "tanh": 4,
    "sigmoid": 5,
    "swish": 6,
}


class Vectorizer(Protocol):
    """Computes the vectors of items that are not tokens of a table."""

    def vectors(self, items: np.ndarray) -> np.ndarray:
        """The vectors (N, D) of items (N, ...)."""
        ...


class FrontEndCall(Protocol):
    """Maps whole sources to vectors before encoding."""

    def __call__(self, source: Any) -> Any: ...


@dataclass(frozen=True)
class AffineArrays:
    """Weights (outputs, inputs) and bias of a linear map."""

    weights: np.ndarray
    bias: np.ndarray | None = None

    def scale(self, factor: float) -> "AffineArrays":
        bias = None if self.bias is None else self.bias * factor
        return AffineArrays(self.weights * factor, bias)

    def pad(self, outputs: int, inputs: int) -> "AffineArrays":
        """Zero-pad to these sizes."""
        bias = None if self.bias is None else pad_to(self.bias, outputs)
        return AffineArrays(pad_to(self.weights, outputs, inputs), bias)

    def split(self, *sizes: int) -> "list[AffineArrays]":
        """Split into the maps to several groups of outputs."""
        ends = np.cumsum(sizes)[:-1]
        weights = np.split(self.weights, ends)
        biases = [None] * len(sizes) if self.bias is None else np.split(self.bias, ends)
        return [AffineArrays(*part) for part in zip(weights, biases, strict=True)]

    def pad_groups(self, count: int, room: int) -> "AffineArrays":
        """Pad each of `count` equal groups of outputs, and the inputs."""
        size, inputs = len(self.weights) // count, round_up(self.weights.shape[1])
        return stack_outputs(
            [part.pad(room, inputs) for part in self.split(*[size] * count)],
        )

    def pack(self, precision: Precision) -> Matrix:
        """Pack for the core, with padded inputs."""
        outputs, inputs = self.weights.shape
        weights = pad_to(self.weights, outputs, round_up(inputs))
        return Matrix.pack(weights, self.bias, precision=precision)


def stack_outputs(parts: Sequence[AffineArrays]) -> AffineArrays:
    """Concatenate the outputs of several maps of the same inputs."""
    bias = None
    if any(part.bias is not None for part in parts):
        each = [np.zeros(len(p.weights), np.float32) if p.bias is None else p.bias for p in parts]
        bias = np.concatenate(each)
    return AffineArrays(np.concatenate([part.weights for part in parts]), bias)


def pack_output(output: AffineArrays, precision: Precision) -> Matrix:
    """Pack an output layer, of which shortlists can be cut."""
    weights = output.weights
    return Matrix.pack(
        pad_to(weights, len(weights), round_up(weights.shape[1])),
        output.bias,
        precision=precision,
        missing=-np.inf,
        keep_rows=True,
    )


@dataclass(frozen=True)
class HeadArrays:
    """The parameters of a head: its pooling, its read-out and its output layer."""

    pool: str
    readout: AffineArrays | None
    output: AffineArrays


@dataclass(frozen=True)
class ReadingTurn:
    """Marks an encoder that reads backwards, except for the last `closing` items."""

    closing: int
    turned: bool  # whether states stay in reading order


class SideArrays(Protocol):
    """The parameters of an encoder or a decoder."""

    def pack(self, precision: Precision) -> "PackedStack":
        """Pack the parameters for the core."""
        ...

    def with_turn(self, turn: "ReadingTurn") -> "SideArrays":
        """The parameters of an encoder that reads backwards."""
        ...

    def with_front(self, front: "FrontEndCall") -> "SideArrays":
        """The parameters of an encoder with a front end."""
        ...


@dataclass(frozen=True, kw_only=True)
class PackedStack:
    """A packed encoder or decoder; `structure(P)` is its core structure for P positions."""

    width: int  # of an encoder's states or a decoder's features
    vectors: np.ndarray | None  # of tokens, padded: (V, width)
    vectorizer: Vectorizer | None = None  # in place of `vectors`
    front: FrontEndCall | None = None  # an encoder's front end
    output: Matrix | None = None  # a decoder's output layer
    reads_source: bool = False  # whether a decoder depends on the source
    attends: bool = False
    reads_prefix: bool = False  # what the encoder gives is read before the first token
    ordered: bool = False  # whether attention depends on position indices
    last_only: bool = False  # whether a path depends on its last entry alone

    @staticmethod
    def of(arrays: SideArrays, precision: Precision) -> "PackedStack":
        """Pack parameters."""
        return arrays.pack(precision)

    def structure(self, positions: int) -> StackStructure | None:
        """The core's structure, with vectors for at least `positions` positions; None if there is
        nothing to read.
        """
        raise NotImplementedError

    def vector_rows(self, items: np.ndarray) -> np.ndarray | None:
        """The vectors of items that are not tokens, in padded rows."""
        structure = self.structure(1)
        if self.vectorizer is None or structure is None:
            return None
        return pad_to(self.vectorizer.vectors(items), len(items), round_up(structure.input, BLOCK))

    @property
    def stride(self) -> int:
        """Floats from one row of states or features to the next."""
        return round_up(self.width, BLOCK)

    @property
    def vocabulary(self) -> int:
        """The number of tokens with a vector."""
        return 0 if self.vectors is None else len(self.vectors)


@dataclass(frozen=True)
class NoSourceArrays:
    """Stands for an encoder where there is no source."""

    def pack(self, precision: Precision) -> "PackedStack":
        return NoSource(width=0, vectors=None)

    def with_turn(self, turn: ReadingTurn) -> "NoSourceArrays":
        return self

    def with_front(self, front: FrontEndCall) -> "NoSourceArrays":
        return self


class NoSource(PackedStack):
    """Its packed form: the core gets no encoder."""

    def structure(self, positions: int) -> StackStructure | None:
        return None


def turn_structure(made: StackStructure, turn: ReadingTurn | None) -> None:
    """Set the reading direction of an encoder."""
    if turn is not None:
        made.backwards, made.closing, made.turned_states = 1, turn.closing, turn.turned


def vector_table(vectors: np.ndarray | None, width: int) -> np.ndarray | None:
    """Token vectors in padded rows of this width."""
    return None if vectors is None else pad_to(vectors, len(vectors), round_up(width, BLOCK))
