"""The long short-term memory (S2.3)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seqloom.config import UNITS, LstmConfig
from seqloom.nn.autograd_functions import apply_function
from seqloom.nn.half_kernels import half_kernels, uses_half_kernels
from seqloom.nn.modules import Dropout
from seqloom.nn.units.initialization import (
    WeightInitialization,
    draw_input_weights,
    draw_recurrent_weights,
)
from seqloom.nn.units.protocol import Unit, UnitState
from seqloom.nn.units.scan import (
    add_product,
    previous_states,
    product,
    scan_states,
    scan_steps,
    sigmoid_backward,
    tanh_backward,
    transpose_weights,
    weight_gradient,
)

__all__ = ["Lstm"]


@UNITS.part("lstm")
class Lstm(Unit):
    """Long short-term memory with one bias per gate (S2.3, S2.7); the state is h and c.

    Hochreiter and Schmidhuber 1997, Long Short-Term Memory; Gers et al. 2000, Learning to Forget.
    """

    label = "LSTM"

    state_names = ("hidden", "cell")
    gate_names = ("input", "forget", "output")

    def __init__(
        self,
        inputs: int,
        width: int,
        *,
        bias: bool = True,
        weights: WeightInitialization = "orthogonal",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.width = width
        self.weights = weights
        self.dropout = Dropout(dropout)
        # Gates in the order i, f, o, candidate.
        self.project = nn.Linear(inputs, 4 * width, bias=bias)
        self.recur = nn.Parameter(torch.empty(4 * width, width))
        self.reset_parameters()

    @classmethod
    def build(cls, options: LstmConfig, inputs: int, width: int) -> "Lstm":
        return cls(
            inputs, width, bias=options.bias, weights=options.weights, dropout=options.dropout
        )

    def reset_parameters(self) -> None:
        """Reinitialize all weights, with a forget gate that starts open.

        Jozefowicz et al. 2015, An Empirical Exploration of Recurrent Network Architectures.
        """
        draw_input_weights(self.project, self.weights)
        draw_recurrent_weights(self.recur, self.weights)
        if self.project.bias is not None:
            nn.init.ones_(self.project.bias.detach()[self.width : 2 * self.width])

    def forward(
        self, inputs: Float[Tensor, "R T I"], state: UnitState
    ) -> tuple[Float[Tensor, "R T D"], tuple[Float[Tensor, "R T D"], ...]]:
        """The output of every step, and the state after every step."""
        sums = self.project(inputs.transpose(0, 1))  # (T, R, 4D)
        recur = self.dropout(self.recur)
        if sums.dtype == torch.bfloat16 and uses_half_kernels(sums, *state):
            hidden, cell = _half_scan(recur, sums, state)
        elif torch.is_grad_enabled():
            hidden, cell = apply_function(_Scan, sums, *state, matrix=recur)
        else:
            step = partial(_step, turned=transpose_weights(recur, sums.shape[0]))
            hidden, cell = scan_states(step, sums, state)
        hidden, cell = hidden.transpose(0, 1), cell.transpose(0, 1)  # (R, T, D)
        return hidden, (hidden, cell)

    def gates(
        self, inputs: Float[Tensor, "R I"], state: UnitState
    ) -> dict[str, Float[Tensor, "R D"]]:
        sums = self.project(inputs) + state[0] @ self.recur.t()
        opened = sums.sigmoid().chunk(4, dim=1)  # the fourth is the candidate, which is no gate
        return dict(zip(self.gate_names, opened[:3], strict=True))

    def retention(self, gates: Mapping[str, Float[Tensor, "R D"]]) -> Float[Tensor, "R D"]:
        return gates["forget"]

    def cell_slope(
        self, inputs: Float[Tensor, "R I"], state: UnitState, after: UnitState
    ) -> Float[Tensor, "R D"]:
        return self.gates(inputs, state)["output"] * (1 - after[1].tanh() ** 2)

    def recurrent_matrices(self) -> dict[str, Float[Tensor, "D D"]]:
        return dict(zip((*self.gate_names, "candidate"), self.recur.chunk(4), strict=True))


def _step(summed: Tensor, state: UnitState, *, turned: Tensor) -> tuple[Tensor, ...]:
    """One step from its projected input: hidden state, cell; gates, and the cell's tanh."""
    hidden, cell = state
    gates = add_product(summed, hidden, turned)
    gates[:, : 3 * hidden.shape[1]].sigmoid_()
    enter, keep, show, candidate = gates.chunk(4, dim=1)
    cell = torch.mul(keep, cell).addcmul_(enter, candidate.tanh_())
    squashed = cell.tanh()
    return show * squashed, cell, gates, squashed


class _Scan(torch.autograd.Function):
    """The loop over time, from projected inputs to all hidden states and cells."""

    @staticmethod
    def forward(
        ctx: Any, recur: Tensor, sums: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        step = partial(_step, turned=transpose_weights(recur, sums.shape[0]))
        hiddens, cells, gates, squashed = scan_steps(step, sums, (hidden, cell))
        ctx.save_for_backward(hidden, cell, recur, hiddens, cells, gates, squashed)
        return hiddens, cells

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, to_hiddens: Tensor, to_cells: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        hidden, cell, recur, hiddens, cells, gates, squashed = ctx.saved_tensors
        _, keep, show, _ = gates.chunk(4, dim=2)
        slopes = _slopes(gates, previous_states(cell, cells), squashed)
        opening = torch.empty_like(squashed)
        tanh_backward(show, squashed, opening)
        deltas = torch.empty_like(slopes)  # (T, R, 4, D)
        flat = deltas.flatten(2)
        to_hidden, to_cell = to_hiddens[-1], to_cells[-1]
        for t in reversed(range(len(deltas))):
            delta = deltas[t]
            to_cell = torch.addcmul(to_cell, to_hidden, opening[t])
            torch.mul(slopes[t], to_cell.unsqueeze(1), out=delta)
            torch.mul(slopes[t, :, 2], to_hidden, out=delta[:, 2])
            if t:
                to_hidden = add_product(to_hiddens[t - 1], flat[t], recur)
                to_cell = torch.addcmul(to_cells[t - 1], to_cell, keep[t])
        to_recur = weight_gradient(flat, previous_states(hidden, hiddens), recur.dtype)
        return to_recur, flat, product(flat[0], recur), to_cell * keep[0]


def _half_scan(recur: Tensor, sums: Tensor, state: UnitState) -> tuple[Tensor, Tensor]:
    hidden, cell = (each.float().contiguous() for each in state)
    with torch.autocast("cpu", enabled=False):
        halved = recur.to(sums.dtype)
        return _HalfScan.apply(halved, sums.contiguous(), hidden, cell)  # type: ignore[no-untyped-call]


class _HalfScan(torch.autograd.Function):
    """The loop with products in bfloat16, and the work between them fused into one pass."""

    @staticmethod
    def forward(
        ctx: Any, recur: Tensor, sums: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        (steps, rows, _), width = sums.shape, hidden.shape[1]
        turned = transpose_weights(recur, steps)
        gates = hidden.new_empty(sums.shape)
        hiddens, cells, squashed = (hidden.new_empty(steps, rows, width) for _ in range(3))
        halves = sums.new_empty(steps + 1, rows, width)
        halves[0] = hidden
        for t in range(steps):
            read = (sums[t], halves[t] @ turned, cells[t - 1] if t else cell)
            made = (gates[t], cells[t], squashed[t], hiddens[t], halves[t + 1])
            half_kernels().lstm(*(each.data_ptr() for each in (*read, *made)), rows, width)
        ctx.save_for_backward(cell, recur, halves, cells, gates, squashed)
        return hiddens, cells

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, to_hiddens: Tensor, to_cells: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        cell, recur, halves, cells, gates, squashed = ctx.saved_tensors
        rows, width = cell.shape
        to_hidden, to_cell = to_hiddens[-1].contiguous(), to_cells[-1].clone()
        deltas = torch.empty_like(gates, dtype=recur.dtype)  # (T, R, 4D)
        for t in reversed(range(len(deltas))):
            before = cells[t - 1] if t else cell
            values = (gates[t], before, squashed[t], to_hidden, to_cell, deltas[t])
            half_kernels().lstm_back(*(each.data_ptr() for each in values), rows, width)
            to_hidden = (deltas[t] @ recur).float()
            if t:
                to_hidden += to_hiddens[t - 1]
                to_cell += to_cells[t - 1]
        to_recur = deltas.flatten(0, 1).t() @ halves[:-1].flatten(0, 1)
        return to_recur, deltas, to_hidden, to_cell


def _slopes(
    gates: Float[Tensor, "T R E"], cells: Float[Tensor, "T R D"], squashed: Float[Tensor, "T R D"]
) -> Float[Tensor, "T R 4 D"]:
    """The derivatives of cell and output by the input of each gate; `cells` are those before a
    step.
    """
    enter, keep, show, candidate = gates.chunk(4, dim=2)
    slopes = torch.empty_like(gates).unflatten(2, (4, -1))
    sigmoid_backward(candidate, enter, slopes[:, :, 0])
    sigmoid_backward(cells, keep, slopes[:, :, 1])
    sigmoid_backward(squashed, show, slopes[:, :, 2])
    tanh_backward(enter, candidate, slopes[:, :, 3])
    return slopes
