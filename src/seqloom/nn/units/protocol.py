"""What every unit offers, so that stacks, encoders and decoders need not know which they have."""

from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["Unit", "UnitState"]

UnitState = tuple[Float[Tensor, "R D"], ...]
"""What a unit carries from step to step, one tensor or more, each with R rows."""


class Unit(nn.Module):
    """A module that reads R rows of inputs step by step (S2).

    Calling it with inputs (R,T,I) and the state before them gives the output of every step (R,T,D),
    and the state after every step, each of its tensors (R,T,D).
    """

    width: int
    """The size D of its output and of every tensor of its state."""

    parts: int
    """The number of tensors in its state."""

    def zero_state(self, like: Float[Tensor, "R T I"]) -> UnitState:
        """The state before anything was read."""
        return (like.new_zeros(like.shape[0], self.width),) * self.parts
