"""The values that move between encoder, decoder and search (S3, S7).

Letters: B sentences, K rows for each, R = B·K rows, S source steps, T target steps, D width, V
vocabulary. Rows are sentence-major, so (R, ...) and (B, K, ...) are views of each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from seqloom.errors import DataError
from seqloom.nn.embedding import TokenVectors

__all__ = [
    "Code",
    "Decoder",
    "Encoder",
    "Features",
    "Feedback",
    "FillingHead",
    "ForecastContext",
    "Head",
    "Memory",
    "Source",
    "State",
    "TeacherForcedHead",
    "TokenScorer",
    "pad_cat",
    "pad_to",
    "tree_map",
]

Own = TypeVar("Own")
Shared = TypeVar("Shared")
St = TypeVar("St")

Code = tuple[Float[Tensor, "B L D"], ...]
"""The last state of every recurrent layer: (hidden,) or (hidden, cell)."""


class Source(NamedTuple):
    """A batch of inputs as ids or numbers; positions past a length are padding, mean nothing."""

    values: Int[Tensor, "B S"] | Int[Tensor, "B S C"] | Float[Tensor, "B S C"]
    lengths: Int[Tensor, "B"]

    @property
    def mask(self) -> Bool[Tensor, "B S"]:
        """True at real positions, of which every input has one."""
        if bool((self.lengths < 1).any()):
            raise DataError("an input without a single token cannot be read; end it in <end>")
        steps = torch.arange(self.values.shape[1], device=self.values.device)
        return steps < self.lengths[:, None]


class ForecastContext(NamedTuple):
    """What a forecast begins from: the last values that were read, all that was read less those,
    and what is known of the steps that follow."""

    last: Float[Tensor, "B C"]
    offsets: Float[Tensor, "B S C"]
    future_covariates: Float[Tensor, "B T K"]


@dataclass(frozen=True)
class Memory:
    """What an encoder hands over; a decoder takes what it needs of it."""

    sentences: int
    states: Float[Tensor, "B S D"] | None = None
    mask: Bool[Tensor, "B S"] | None = None  # True at real positions
    code: Code | None = None
    past: ForecastContext | None = None  # of a series

    def source_lengths(self, source: Source) -> Int[Tensor, "B"]:
        """How many positions of each sentence can be looked at."""
        return source.lengths if self.mask is None else self.mask.sum(dim=1)


class Features(NamedTuple):
    """What a decoder made of its inputs, before the output layer."""

    hidden: Float[Tensor, "R T D"]
    attention: Float[Tensor, "R T S"] | None = None  # only where the state was started with trace


@dataclass(frozen=True)
class State(Generic[Own, Shared]):
    """Where a decoder stands: `own` tensors have a row per path, `shared` ones a row per sentence.

    Both are named tuples of tensors, or of tuples of tensors. A state is a value, but `read`
    consumes it (caches are written in place): to go on in two ways, `select` first.
    """

    own: Own
    shared: Shared
    trace: bool = False

    def select(
        self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None
    ) -> "State[Own, Shared]":
        """The state of these rows, in this order; `sentences` says which stay, if not all do."""
        shared = self.shared
        if sentences is not None:
            shared = tree_map(lambda tensor: tensor.index_select(0, sentences), shared)
        own = tree_map(lambda tensor: tensor.index_select(0, rows), self.own)
        return replace(self, own=own, shared=shared)

    def join(self, other: "State[Own, Shared]") -> "State[Own, Shared]":
        """These sentences and then those of another state, with equally many paths each.

        Both are consumed. What is longer in one of them is padded in the other: masks and
        positions say what is real.
        """
        shared = pad_cat(self.shared, other.shared)
        return replace(self, own=pad_cat(self.own, other.own), shared=shared)


def tree_map(change: Any, values: Any) -> Any:
    """The same (named) tuples with `change` applied to each tensor in them."""
    if isinstance(values, Tensor):
        return change(values)
    changed = [tree_map(change, value) for value in values]
    return type(values)(*changed) if hasattr(values, "_fields") else tuple(changed)


def pad_cat(first: Any, second: Any) -> Any:
    """The rows of two alike (named) tuples of tensors, one after the other, padded by zeros."""
    if isinstance(first, Tensor):
        sizes = [max(pair) for pair in zip(first.shape[1:], second.shape[1:], strict=True)]
        return torch.cat([pad_to(first, sizes), pad_to(second, sizes)])
    both = [pad_cat(*pair) for pair in zip(first, second, strict=True)]
    return type(first)(*both) if hasattr(first, "_fields") else tuple(both)


def pad_to(tensor: Tensor, sizes: Sequence[int], *, value: float = 0.0) -> Tensor:
    """The tensor with at least these sizes after its first axis, filled up at the ends."""
    extra = [want - have for want, have in zip(sizes, tensor.shape[1:], strict=True)]
    if not any(extra):
        return tensor
    widths = [width for more in reversed(extra) for width in (0, more)]
    return functional.pad(tensor, widths, value=value)


@runtime_checkable
class Encoder(Protocol):
    """Reads a whole input."""

    def encode(self, source: Source) -> Memory: ...


@runtime_checkable
class Decoder(Protocol[St]):
    """Writes an output step by step; every search drives every decoder through these three."""

    def start(self, memory: Memory, *, trace: bool = False) -> St:
        """The state before the first input, one row a sentence."""
        ...

    def read(self, inputs: Int[Tensor, "R T"], state: St) -> tuple[Features, St]:
        """Take in T more tokens for each row. One read of T equals T reads of one."""
        ...

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        """Unnormalised log-probabilities of the next token, for any leading shape."""
        ...


class Feedback(NamedTuple):
    """How a decoder that is to learn from its own outputs can be made to read them (S2.2)."""

    vectors: TokenVectors  # of the tokens it reads
    read: Callable[[Tensor, Any], tuple[Features, Any]]  # vectors (R,T,E) in place of tokens
    by_steps: bool  # it runs free step by step; otherwise all choices are made in one pass
    soft: bool = False  # in use it reads no token but the mean vector under the distribution


@runtime_checkable
class Head(Protocol):
    """What takes a decoder's place where a target is not written step by step."""

    def __call__(self, memory: Memory) -> Float[Tensor, "B T V"]:
        """What is thought of each position of the target: scores of labels, or numbers."""
        ...

    def losses(
        self, judged: Float[Tensor, "N V"], targets: Tensor, *, smoothing: float
    ) -> Float[Tensor, "N"]:
        """How far each judgement is from its target: nats, or a squared distance."""
        ...

    def average(self, judged: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        """What several models think together."""
        ...


@runtime_checkable
class TokenScorer(Protocol):
    """What has a score for every token of a vocabulary: too many to have them at all positions."""

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        """Unnormalised log-probabilities, for any leading shape."""
        ...


@runtime_checkable
class FillingHead(TokenScorer, Protocol):
    """A head that tells tokens which were left out of the source."""

    width: int  # of what it reads
    around: bool  # whether no position is shown itself, so that all can be asked for at once

    def read(self, memory: Memory) -> Float[Tensor, "B T D"]:
        """A vector for each position, from which `write` tells its token."""
        ...


@runtime_checkable
class TeacherForcedHead(Protocol):
    """A head that goes by its own judgement of the step before, and can be told the true one."""

    def teacher_force(
        self, memory: Memory, target: Float[Tensor, "B T C"]
    ) -> Float[Tensor, "B T V"]:
        """What it thinks of each position while it learns (S6.3)."""
        ...
