"""Combinations of several vectors, at the input of a decoder's step and at its output."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.nn.modules import children_of

__all__ = ["ConcatCombiner", "SumCombiner", "TanhCombiner"]


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
