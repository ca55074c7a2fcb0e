"""What modules do while torch traces them for another runtime.

A trace holds one way through the code. It is made for one source without padding and for rows that
have all read equally much, so nothing may depend on the values of a tensor.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch._higher_order_ops.scan import scan

__all__ = ["is_traced", "traced_scan"]

StateStep = Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]]


def is_traced() -> bool:
    """Whether this call is traced."""
    return torch.compiler.is_exporting()


def traced_scan(step: StateStep, inputs: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The state after every step of a loop over axis 0, however many steps there are."""
    parts = len(state)

    def advance(
        before: tuple[Tensor, ...], read: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        after = step(read, before)[:parts]
        return after, tuple(part.clone() for part in after)

    _, states = scan(advance, tuple(part.clone() for part in state), inputs)
    return tuple(states)
