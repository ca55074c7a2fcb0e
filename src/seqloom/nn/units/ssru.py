"""The simpler simple recurrent unit: no product depends on the step before (S2)."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear, pad

from seqloom.config import UNITS, SsruConfig
from seqloom.nn.autograd_functions import apply_function
from seqloom.nn.units.initialization import WeightInitialization, draw_input_weights
from seqloom.nn.units.protocol import Unit, UnitState
from seqloom.nn.units.scan import previous_states, scan_states, scan_steps

__all__ = ["Ssru"]


@UNITS.part("ssru")
class Ssru(Unit):
    """`f = σ(W_f x + b_f)`, `c_t = f ⊙ c_{t-1} + (1−f) ⊙ W x`, `h = relu(c)`; the state is c.

    Kim et al. 2019, From Research to Production and Back (SSRU), after Lei et al. 2018, Simple
    Recurrent Units for Highly Parallelizable Recurrence.
    """

    label = "SSRU"

    state_names = ("cell",)
    gate_names = ("forget",)

    def __init__(
        self,
        inputs: int,
        width: int,
        *,
        bias: bool = True,
        weights: WeightInitialization = "orthogonal",
    ) -> None:
        super().__init__()
        self.width = width
        self.weights = weights
        # W_f, then W; one product for both, and a bias for the first alone.
        self.project = nn.Linear(inputs, 2 * width, bias=False)
        self.bias = nn.Parameter(torch.empty(width)) if bias else None
        self.reset_parameters()

    @classmethod
    def build(cls, options: SsruConfig, inputs: int, width: int) -> "Ssru":
        return cls(inputs, width, bias=options.bias, weights=options.weights)

    def reset_parameters(self) -> None:
        """Reinitialize all weights."""
        draw_input_weights(self.project, self.weights)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self, inputs: Float[Tensor, "R T I"], state: UnitState
    ) -> tuple[Float[Tensor, "R T D"], tuple[Float[Tensor, "R T D"], ...]]:
        """The output of every step, and the state after every step."""
        bias = None if self.bias is None else pad(self.bias, (0, self.width))
        sums = linear(inputs.transpose(0, 1), self.project.weight, bias)  # (T, R, 2D)
        if torch.is_grad_enabled():
            cell = apply_function(_Scan, sums, state[0])
        else:
            (cell,) = scan_states(_step, sums, state)
        cell = cell.transpose(0, 1)  # (R, T, D)
        return cell.relu(), (cell,)

    def gates(
        self, inputs: Float[Tensor, "R I"], state: UnitState
    ) -> dict[str, Float[Tensor, "R D"]]:
        return {"forget": linear(inputs, self.project.weight[: self.width], self.bias).sigmoid()}

    def retention(self, gates: Mapping[str, Float[Tensor, "R D"]]) -> Float[Tensor, "R D"]:
        return gates["forget"]


def _step(summed: Tensor, state: UnitState) -> tuple[Tensor, ...]:
    """One step from its projected input: cell; forget gate."""
    gate, value = summed.chunk(2, dim=1)
    forget = gate.sigmoid()
    return torch.lerp(value, state[0], forget), forget


class _Scan(torch.autograd.Function):
    """The loop over time, from projected inputs to all cells."""

    @staticmethod
    def forward(ctx: Any, sums: Tensor, first: Tensor) -> Tensor:
        cells, forget = scan_steps(_step, sums, (first,))
        ctx.save_for_backward(first, sums.chunk(2, dim=2)[1], cells, forget)
        return cells

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_cells: Tensor) -> tuple[Tensor, Tensor]:
        first, value, cells, forget = ctx.saved_tensors
        totals = torch.empty_like(cells)
        totals[-1] = to_cells[-1]
        for t in reversed(range(1, len(cells))):
            torch.addcmul(to_cells[t - 1], totals[t], forget[t], out=totals[t - 1])
        to_sums = forget.new_empty(*forget.shape[:2], 2 * forget.shape[2])
        to_gate, to_value = to_sums.chunk(2, dim=2)
        torch.mul(totals, 1 - forget, out=to_value)
        torch.mul(previous_states(first, cells).sub_(value).mul_(forget), to_value, out=to_gate)
        return to_sums, totals[0] * forget[0]
