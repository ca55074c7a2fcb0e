"""Truncated backpropagation through time in recurrent layers (S6.2)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from jaxtyping import Float
from torch import Tensor, cat

from seqloom.nn.modules import is_traced
from seqloom.nn.units import Unit, UnitState

__all__ = ["run_unit", "truncate_gradients"]

STEPS: ContextVar[int] = ContextVar("steps between two detached states", default=0)


@contextmanager
def truncate_gradients(steps: int) -> Iterator[None]:
    """Within this block every recurrent layer detaches its state after so many steps, in its
    reading direction; 0: never.
    """
    before = STEPS.set(steps)
    try:
        yield
    finally:
        STEPS.reset(before)


def run_unit(
    unit: Unit, inputs: Float[Tensor, "B S I"], state: UnitState
) -> tuple[Float[Tensor, "B S E"], tuple[Float[Tensor, "B S E"], ...]]:
    """Run a unit, chunk by chunk within a block of `truncate_gradients`."""
    steps = 0 if is_traced() else STEPS.get()
    if not steps or inputs.shape[1] <= steps:
        return unit(inputs, state)
    outputs, states = [], []
    for chunk in inputs.split(steps, dim=1):
        output, after = unit(chunk, state)
        state = tuple(part[:, -1].detach() for part in after)
        outputs.append(output)
        states.append(after)
    return cat(outputs, dim=1), tuple(cat(parts, dim=1) for parts in zip(*states, strict=True))
