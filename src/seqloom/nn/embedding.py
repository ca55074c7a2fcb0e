"""Token vectors, and the output layer that may share their table (SPEC S1.4)."""

import math
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Embedding", "OneHot", "OutputLayer", "Projection", "TokenVectors", "Vectors"]


@runtime_checkable
class Vectors(Protocol):
    """A vector for each item of a source."""

    width: int

    def __call__(self, items: Tensor) -> Float[Tensor, "*shape D"]: ...


@runtime_checkable
class TokenVectors(Vectors, Protocol):
    """A vector for each token."""

    def mean(self, probabilities: Float[Tensor, "*shape V"]) -> Float[Tensor, "*shape D"]:
        """The mean vector under a distribution over tokens (SPEC S2.2, soft feedback)."""
        ...


class Embedding(nn.Module):
    """A learned vector for each token: a projection of its one-hot vector, times √D.

    The table starts small, as an output layer that shares it must; the factor makes up for that.
    """

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.factor = math.sqrt(width)
        self.table = nn.Parameter(torch.empty(size, width))
        nn.init.normal_(self.table, std=width**-0.5)

    def forward(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape D"]:
        return functional.embedding(tokens, self.table) * self.factor

    def mean(self, probabilities: Float[Tensor, "*shape V"]) -> Float[Tensor, "*shape D"]:
        return probabilities @ self.table * self.factor


class OneHot(nn.Module):
    """One-hot vectors: as long as the vocabulary, without parameters."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.width = size
        self.register_buffer("precision", torch.empty(0), persistent=False)

    precision: Tensor
    """Empty; it follows the model's kind of numbers, as parameters would."""

    def forward(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape D"]:
        return functional.one_hot(tokens, self.width).to(self.precision.dtype)

    def mean(self, probabilities: Float[Tensor, "*shape V"]) -> Float[Tensor, "*shape D"]:
        return probabilities


class Projection(nn.Module):
    """An affine map of an item's numbers to a vector, for inputs that are not symbols."""

    def __init__(self, numbers: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.map = nn.Linear(numbers, width)

    def forward(self, items: Float[Tensor, "*shape C"]) -> Float[Tensor, "*shape D"]:
        return self.map(items)


class OutputLayer(nn.Module):
    """An affine map to the vocabulary; with `tied`, its matrix is an embedding's table."""

    def __init__(self, width: int, size: int, *, tied: Embedding | None, bias: bool = True) -> None:
        super().__init__()
        self.matrix = Embedding(size, width) if tied is None else tied
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None

    def forward(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return functional.linear(hidden, self.matrix.table, self.bias)
