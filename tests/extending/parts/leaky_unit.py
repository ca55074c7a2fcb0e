"""A recurrent unit: `h_t = a h_{t-1} + (1 - a) tanh(W x_t + b)`."""

from collections.abc import Mapping
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from seqloom.config import UNITS, UnitOptions
from seqloom.nn.units import Unit, UnitState


@UNITS.options("leaky")
class LeakyOptions(UnitOptions):
    """A leaky integrator."""

    kind: Literal["leaky"] = "leaky"
    share: float = Field(0.5, ge=0, lt=1, description="share of the state that stays")


@UNITS.part("leaky")
class Leaky(Unit):
    """A leaky integrator, whose only gate is a constant."""

    gate_names = ("leak",)

    def __init__(self, inputs: int, width: int, share: float) -> None:
        super().__init__()
        self.width, self.share = width, share
        self.project = nn.Linear(inputs, width)

    @classmethod
    def build(cls, options: LeakyOptions, inputs: int, width: int) -> "Leaky":
        return cls(inputs, width, options.share)

    def forward(self, inputs: Tensor, state: UnitState) -> tuple[Tensor, tuple[Tensor, ...]]:
        (hidden,), steps = state, []
        for value in self.project(inputs).tanh().unbind(1):
            hidden = self.share * hidden + (1 - self.share) * value
            steps.append(hidden)
        states = torch.stack(steps, dim=1)  # (R, T, D)
        return states, (states,)

    def gates(self, inputs: Tensor, state: UnitState) -> dict[str, Tensor]:
        return {"leak": torch.full_like(state[0], self.share)}

    def retention(self, gates: Mapping[str, Tensor]) -> Tensor:
        return gates["leak"]
