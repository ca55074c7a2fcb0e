"""The hard gate that motivates the soft gates of LSTM and GRU (S2.5)."""

import torch
from jaxtyping import Shaped
from torch import Tensor

__all__ = ["hard_gate"]


def hard_gate(
    gate: Shaped[Tensor, "*D"], inputs: Shaped[Tensor, "*D"], state: Shaped[Tensor, "*D"]
) -> Shaped[Tensor, "*D"]:
    """`s' = g ⊙ x + (1−g) ⊙ s` for g of zeros and ones: take the input where g is 1 (S2.5).

    s = (8, 9, 3), x = (10, 11, 12) and g = (0, 1, 0) give (8, 11, 3). No gradient reaches g, so it
    cannot be learnt; a sigmoid in its place is the soft gate of the other units.
    """
    return torch.where(gate.bool(), inputs, state)
