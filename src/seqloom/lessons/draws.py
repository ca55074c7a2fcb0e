"""Values and modules initialized from a fixed seed, in double precision."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

__all__ = ["draw_module", "draw_values", "largest_difference"]

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def draw_values(*shape: int, seed: int = 1) -> Tensor:
    """Standard normal values."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def draw_module(make: Callable[[], AnyModule], seed: int = 1) -> AnyModule:
    """A module initialized from a seed of its own."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make().double().eval()


def largest_difference(first: Tensor, second: Tensor) -> float:
    """The largest absolute difference of two tensors; 0 if it is below rounding."""
    found: Any = (first - second).detach().abs().max().item()
    return 0.0 if found < 1e-12 else float(found)
