"""Combinations of several vectors, at the input of a decoder's step and at its output."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.nn.modules import children_of

__all__ = ["ConcatCombiner", "Readout", "SumCombiner", "TanhCombiner"]


class ConcatCombiner(nn.Module):
    """Concatenation."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.width = sum(sizes)

    def forward(self, parts: list[Float[Tensor, "R T _"]]) -> Float[Tensor, "R T D"]:
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


class SumCombiner(nn.Module):
    """The first vector, plus a linear map of each other to its size: `x_t + φ(y)` of S2.2."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.width = sizes[0]
        self.maps = nn.ModuleList(nn.Linear(size, self.width, bias=False) for size in sizes[1:])

    def forward(self, parts: list[Float[Tensor, "R T _"]]) -> Float[Tensor, "R T D"]:
        total = parts[0]
        for change, part in zip(children_of(self.maps, nn.Linear), parts[1:], strict=True):
            total = total + change(part)
        return total


class TanhCombiner(nn.Module):
    """One layer over the concatenation: `tanh(W [a; b; …] + c)`."""

    def __init__(self, sizes: Sequence[int], width: int) -> None:
        super().__init__()
        self.width = width
        self.map = nn.Linear(sum(sizes), width)

    def forward(self, parts: list[Float[Tensor, "R T _"]]) -> Float[Tensor, "R T D"]:
        return self.map(torch.cat(parts, dim=-1)).tanh()


class Readout(nn.Module):
    """What an output layer sees of a state: the state itself, or `tanh(W s + b)` of its size (S2).

    With the output layer after it, the read-out is affine or a perceptron of one hidden layer.
    """

    def __init__(self, width: int, kind: Literal["perceptron", "affine"]) -> None:
        super().__init__()
        self.width = width
        self.map = nn.Linear(width, width) if kind == "perceptron" else None

    @property
    def is_affine(self) -> bool:
        """Whether the output layer sees the states themselves."""
        return self.map is None

    def forward(self, states: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows D"]:
        if self.map is None:
            return states
        changed: Tensor = self.map(states)
        return changed.tanh()
