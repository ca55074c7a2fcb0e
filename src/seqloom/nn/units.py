"""Recurrent units: `s_i = R(s_{i-1}, x_i)` over whole sequences (SPEC S2).

A unit projects all its inputs in one product, then loops over time with one product a step. The
loop and its gradient are written by hand: the gradient of the recurrent weights is then one product
over all steps rather than a sum of small ones.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["Lstm", "UnitState"]

UnitState = tuple[Float[Tensor, "R D"], ...]
"""What a unit carries from step to step, one tensor or more, each with R rows."""


class Lstm(nn.Module):
    """Long short-term memory with one bias per gate (SPEC S2.3, S2.7)."""

    parts = 2  # tensors in its state: hidden and cell

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.project = nn.Linear(inputs, 4 * width)  # gates in the order i, f, o, candidate
        self.recur = nn.Parameter(torch.empty(4 * width, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot for the input, orthogonal for the recurrence, a forget gate that starts open."""
        nn.init.xavier_uniform_(self.project.weight)
        for gate in self.recur.detach().chunk(4):
            nn.init.orthogonal_(gate)
        nn.init.zeros_(self.project.bias)
        with torch.no_grad():
            self.project.bias[self.width : 2 * self.width] = 1.0

    def zero_state(self, like: Float[Tensor, "R T I"]) -> UnitState:
        """The state before anything was read."""
        zero = like.new_zeros(like.shape[0], self.width)
        return zero, zero

    def forward(
        self, inputs: Float[Tensor, "R T I"], state: UnitState
    ) -> tuple[Float[Tensor, "R T D"], tuple[Float[Tensor, "R T D"], ...]]:
        """The output of every step, and the state after every step."""
        gates = self.project(inputs.transpose(0, 1))  # (T, R, 4D)
        hidden, cell = _scan(gates, state[0], state[1], self.recur)
        hidden, cell = hidden.transpose(0, 1), cell.transpose(0, 1)  # (R, T, D)
        return hidden, (hidden, cell)


def _scan(*values: Tensor) -> tuple[Tensor, Tensor]:
    return _LstmScan.apply(*values)  # type: ignore[no-untyped-call]


class _LstmScan(torch.autograd.Function):
    """The loop over time, from projected inputs to all hidden states and cells, time first."""

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, hidden: Tensor, cell: Tensor, recur: Tensor
    ) -> tuple[Tensor, Tensor]:
        steps, rows, width = gates.shape[0], gates.shape[1], hidden.shape[1]
        active = torch.empty_like(gates)
        hiddens = gates.new_empty(steps, rows, width)
        cells, squashed = torch.empty_like(hiddens), torch.empty_like(hiddens)
        turned = recur.t()
        first = hidden, cell
        for t in range(steps):
            now = torch.addmm(gates[t], hidden, turned, out=active[t])
            now[:, : 3 * width].sigmoid_()
            now[:, 3 * width :].tanh_()
            enter, keep, show, candidate = now.chunk(4, dim=1)
            cell = torch.mul(keep, cell, out=cells[t]).addcmul_(enter, candidate)
            torch.tanh(cell, out=squashed[t])
            hidden = torch.mul(show, squashed[t], out=hiddens[t])
        ctx.save_for_backward(*first, recur, active, hiddens, cells, squashed)
        return hiddens, cells

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        to_hiddens, to_cells = gradients
        hidden, cell, recur, active, hiddens, cells, squashed = ctx.saved_tensors
        steps, width = active.shape[0], hidden.shape[1]
        to_gates = torch.empty_like(active)
        to_hidden, to_cell = torch.zeros_like(hidden), torch.zeros_like(cell)
        slope = active.mul(1 - active)  # of the sigmoids, for all steps at once
        slope[..., 3 * width :] = 1 - active[..., 3 * width :].square()
        opening = active[..., 2 * width : 3 * width] * (1 - squashed.square())
        for t in reversed(range(steps)):
            enter, keep, _, candidate = active[t].chunk(4, dim=1)
            to_hidden = to_hidden + to_hiddens[t]
            to_cell = torch.addcmul(to_cell + to_cells[t], to_hidden, opening[t])
            to_enter, to_keep, to_show, to_candidate = to_gates[t].chunk(4, dim=1)
            torch.mul(to_cell, candidate, out=to_enter)
            torch.mul(to_cell, cells[t - 1] if t else cell, out=to_keep)
            torch.mul(to_hidden, squashed[t], out=to_show)
            torch.mul(to_cell, enter, out=to_candidate)
            to_gates[t].mul_(slope[t])
            to_hidden = to_gates[t] @ recur
            to_cell = to_cell * keep
        before = torch.cat([hidden.unsqueeze(0), hiddens[:-1]]).flatten(0, 1)
        to_recur = to_gates.flatten(0, 1).t() @ before
        return to_gates, to_hidden, to_cell, to_recur
