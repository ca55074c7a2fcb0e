"""The values passed between encoder, decoder and search (S3, S7).

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
from seqloom.nn.modules import is_traced

__all__ = [
    "Code",
    "Decoder",
    "Encoder",
    "Features",
    "Feedback",
    "FillingHead",
    "ForecastContext",
    "Memory",
    "Source",
    "State",
    "TargetFeatures",
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
    """A batch of inputs as ids or numbers; positions past a row's length are padding."""

    values: Int[Tensor, "B S"] | Int[Tensor, "B S C"] | Float[Tensor, "B S C"]
    lengths: Int[Tensor, "B"]

    @property
    def mask(self) -> Bool[Tensor, "B S"]:
        """True at real positions, of which every input has one."""
        if not is_traced() and bool((self.lengths < 1).any()):
            raise DataError(
                "an input without a single token cannot be read", remedy="end it in <end>"
            )
        steps = torch.arange(self.values.shape[1], device=self.values.device)
        return steps < self.lengths[:, None]


class ForecastContext(NamedTuple):
    """What a forecast starts from: the last values read, all values minus these, and the covariates
    known for the steps ahead.
    """

    last: Float[Tensor, "B C"]
    offsets: Float[Tensor, "B S C"]
    future_covariates: Float[Tensor, "B T K"]


@dataclass(frozen=True)
class Memory:
    """The output of an encoder for a decoder or head; each part is optional."""

    sentences: int
    states: Float[Tensor, "B S D"] | None = None
    mask: Bool[Tensor, "B S"] | None = None  # True at real positions
    code: Code | None = None
    past: ForecastContext | None = None  # of a series

    def states_and_mask(self) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"]]:
        """The states and their mask; TypeError if the encoder gives none."""
        if self.states is None or self.mask is None:
            raise TypeError("this part reads the encoder's states, and the encoder gives none")
        return self.states, self.mask

    def source_lengths(self, source: Source) -> Int[Tensor, "B"]:
        """The number of positions of each sentence that can be attended to."""
        return source.lengths if self.mask is None else self.mask.sum(dim=1)


class Features(NamedTuple):
    """A decoder's outputs, from which the output layer computes logits."""

    hidden: Float[Tensor, "R T D"]
    attention: Float[Tensor, "R T S"] | None = None  # only if the state was started with `trace`


class TargetFeatures(NamedTuple):
    """Features or outputs for each target step, the step's label, and whether it is in the loss."""

    hidden: Float[Tensor, "B T D"]
    labels: Int[Tensor, "B T"] | Float[Tensor, "B T C"]
    loss_mask: Bool[Tensor, "B T"]


@dataclass(frozen=True)
class State(Generic[Own, Shared]):
    """The state of a decoder: `own` tensors have a row per path, `shared` ones a row per sentence.

    Both are named tuples of tensors, or of tuples of tensors. A state is a value, but `read`
    consumes it (caches are written in place): to continue in two ways, `select` first.
    """

    own: Own
    shared: Shared
    trace: bool = False

    def select(
        self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None
    ) -> "State[Own, Shared]":
        """Select rows, in this order; `sentences` are those that stay, if not all."""
        shared = self.shared
        if sentences is not None:
            shared = tree_map(lambda tensor: tensor.index_select(0, sentences), shared)
        own = tree_map(lambda tensor: tensor.index_select(0, rows), self.own)
        return replace(self, own=own, shared=shared)

    def join(self, other: "State[Own, Shared]") -> "State[Own, Shared]":
        """Append the sentences of another state with equally many paths each.

        Both states are consumed. Shorter tensors are padded; masks and positions tell padding
        apart.
        """
        shared = pad_cat(self.shared, other.shared)
        return replace(self, own=pad_cat(self.own, other.own), shared=shared)


def tree_map(change: Any, values: Any) -> Any:
    """Apply `change` to each tensor in nested (named) tuples."""
    if isinstance(values, Tensor):
        return change(values)
    changed = [tree_map(change, value) for value in values]
    return type(values)(*changed) if hasattr(values, "_fields") else tuple(changed)


def pad_cat(first: Any, second: Any) -> Any:
    """Concatenate the rows of two (named) tuples of tensors of the same structure, padded with
    zeros.
    """
    if isinstance(first, Tensor):
        sizes = [max(pair) for pair in zip(first.shape[1:], second.shape[1:], strict=True)]
        return torch.cat([pad_to(first, sizes), pad_to(second, sizes)])
    both = [pad_cat(*pair) for pair in zip(first, second, strict=True)]
    return type(first)(*both) if hasattr(first, "_fields") else tuple(both)


def pad_to(tensor: Tensor, sizes: Sequence[int], *, value: float = 0.0) -> Tensor:
    """Pad a tensor at the ends of its axes to at least these sizes, from the second axis on."""
    extra = [want - have for want, have in zip(sizes, tensor.shape[1:], strict=True)]
    if not any(extra):
        return tensor
    widths = [width for more in reversed(extra) for width in (0, more)]
    return functional.pad(tensor, widths, value=value)


@runtime_checkable
class Encoder(Protocol):
    """Encodes a whole input."""

    def encode(self, source: Source) -> Memory:
        """Read a batch of sources."""
        ...


@runtime_checkable
class Decoder(Protocol[St]):
    """Generates an output step by step; every search drives every decoder through these methods."""

    def start(self, memory: Memory, *, trace: bool = False) -> St:
        """The state before the first input, one row a sentence."""
        ...

    def read(self, inputs: Int[Tensor, "R T"], state: St) -> tuple[Features, St]:
        """Read T more tokens for each row. One read of T equals T reads of one."""
        ...

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        """Unnormalized log-probabilities of the next token, for any leading shape."""
        ...


class Feedback(NamedTuple):
    """How a decoder reads its own outputs in training (S2.2)."""

    vectors: TokenVectors  # embeddings of the tokens it reads
    read: Callable[[Tensor, Any], tuple[Features, Any]]  # vectors (R,T,E) in place of tokens
    by_steps: bool  # whether it must run step by step; otherwise all choices are made in one pass
    soft: bool = (
        False  # whether it reads the mean embedding under the distribution, not a token, in use
    )


@runtime_checkable
class TokenScorer(Protocol):
    """A part with an output layer over a vocabulary, called for chunks of positions."""

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        """Unnormalized log-probabilities, for any leading shape."""
        ...


@runtime_checkable
class FillingHead(TokenScorer, Protocol):
    """A head that predicts masked tokens of the source."""

    width: int  # of the vectors from `read`
    around: (
        bool  # whether no position depends on its own token, so that all can be predicted at once
    )

    def read(self, memory: Memory) -> Float[Tensor, "B T D"]:
        """A vector for each position, from which `write` predicts its token."""
        ...
