"""Positions as vectors (SPEC S5.3)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["sinusoids"]


def sinusoids(
    positions: Int[Tensor, "*shape"], width: int, *, base: float = 10_000.0
) -> Float[Tensor, "*shape {width}"]:
    """Interleaved sines and cosines: `r_{2i} = sin(t / M^{2i/p})`, `r_{2i+1} = cos` of the same."""
    even = torch.arange(0, width, 2, device=positions.device, dtype=torch.float64)
    angles = positions[..., None].double() / base ** (even / width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :width]
