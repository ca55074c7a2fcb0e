"""Where gradients through time end: after so many steps of a recurrent layer (S6.2)."""

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
    """In this block every recurrent layer carries its state on detached after so many steps, in
    the direction in which it reads; 0 detaches none."""
    before = STEPS.set(steps)
    try:
        yield
    finally:
        STEPS.reset(before)


def run_unit(
    unit: Unit, inputs: Float[Tensor, "B S I"], state: UnitState
) -> tuple[Float[Tensor, "B S E"], tuple[Float[Tensor, "B S E"], ...]]:
    """The outputs and states of a unit; in a block of `truncate_gradients`, chunk by chunk."""
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
