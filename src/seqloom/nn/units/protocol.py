"""The interface of recurrent units."""

from collections.abc import Mapping
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["Unit", "UnitState"]

UnitState = tuple[Float[Tensor, "R D"], ...]
"""The state of a unit: one tensor or more, each with R rows."""


class Unit(nn.Module):
    """Base class of recurrent units (S2).

    Called with inputs (R,T,I) and the state before them, it returns the output of every step
    (R,T,D) and the state after every step, each of its tensors (R,T,D).

    To add a unit, register its options with `UNITS.options` and its class with `UNITS.part`.
    """

    width: int
    """Size D of the output and of every tensor of the state."""

    label: ClassVar[str] = "unit"
    """Its name in drawings."""

    state_names: tuple[str, ...] = ("hidden",)
    """Names of the tensors that make up the state."""

    gate_names: ClassVar[tuple[str, ...]] = ()
    """Names of the gates; empty if it has none."""

    @classmethod
    def build(cls, options: Any, inputs: int, width: int) -> "Unit":
        """Build the unit with these options, for inputs and states of these sizes."""
        raise NotImplementedError

    @property
    def parts(self) -> int:
        """Number of tensors in the state."""
        return len(self.state_names)

    def zero_state(self, like: Float[Tensor, "R T I"]) -> UnitState:
        """The state before the first step."""
        return (like.new_zeros(like.shape[0], self.width),) * self.parts

    def gates(
        self, inputs: Float[Tensor, "R I"], state: UnitState
    ) -> dict[str, Float[Tensor, "R D"]]:
        """The activation of each gate for these inputs and states, by gate name."""
        return {}

    def retention(self, gates: Mapping[str, Float[Tensor, "R D"]]) -> Float[Tensor, "R D"] | None:
        """The share of the last tensor of the state that these gates keep; None without gates."""
        return None

    def cell_slope(
        self, inputs: Float[Tensor, "R I"], state: UnitState, after: UnitState
    ) -> Float[Tensor, "R D"] | None:
        """∂h/∂c of a step from `state` to `after`, with c a memory cell; None without one."""
        return None

    def recurrent_matrices(self) -> dict[str, Float[Tensor, "D D"]]:
        """The recurrent matrices, by the name of the gate or candidate they feed."""
        return {}
