"""Token vectors, and the output layer that may share their table (SPEC S1.4)."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Embedding", "OutputLayer"]


class Embedding(nn.Module):
    """A learned vector for each token: a projection of its one-hot vector, times √D.

    The table starts small, as an output layer that shares it must; the factor makes up for that.
    """

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.factor = math.sqrt(width)
        self.table = nn.Parameter(torch.empty(size, width))
        nn.init.normal_(self.table, std=width**-0.5)

    def forward(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape D"]:
        return functional.embedding(tokens, self.table) * self.factor


class OutputLayer(nn.Module):
    """An affine map to the vocabulary; with `tied`, its matrix is an embedding's table."""

    def __init__(self, width: int, size: int, *, tied: Embedding | None) -> None:
        super().__init__()
        self.matrix = Embedding(size, width) if tied is None else tied
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return functional.linear(hidden, self.matrix.table, self.bias)
