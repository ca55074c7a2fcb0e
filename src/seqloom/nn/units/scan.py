"""Helpers of the loops over time; their tensors are time first, (T, R, ...)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.nn.modules import is_traced, traced_scan
from seqloom.nn.units.protocol import UnitState

__all__ = [
    "UnitStep",
    "add_product",
    "previous_states",
    "product",
    "scan_states",
    "scan_steps",
    "sigmoid_backward",
    "tanh_backward",
    "transpose_weights",
    "weight_gradient",
]

UnitStep = Callable[[Tensor, UnitState], tuple[Tensor, ...]]
"""A step: from projected inputs and a state to the next state and the values saved for the "
  "gradient."""


def scan_steps(
    step: UnitStep, sums: Float[Tensor, "T R E"], state: UnitState
) -> tuple[Tensor, ...]:
    """The results of each step, stacked over time."""
    return tuple(torch.stack(part) for part in zip(*_run_steps(step, sums, state), strict=True))


def scan_states(
    step: UnitStep, sums: Float[Tensor, "T R E"], state: UnitState
) -> tuple[Tensor, ...]:
    """The state after every step, for use without gradients."""
    if is_traced() and not isinstance(sums.shape[0], int):
        return traced_scan(step, sums, state)
    found = _run_steps(step, sums, state)
    if len(found) == 1:
        return tuple(part.unsqueeze(0) for part in found[0][: len(state)])
    return tuple(torch.stack([each[part] for each in found]) for part in range(len(state)))


def _run_steps(step: UnitStep, sums: Tensor, state: UnitState) -> list[tuple[Tensor, ...]]:
    parts = len(state)
    found = []
    for summed in sums.unbind():
        found.append(step(summed, state))
        state = found[-1][:parts]
    return found


def product(values: Float[Tensor, "R E"], matrix: Float[Tensor, "E D"]) -> Float[Tensor, "R D"]:
    """The product, computed in the matrix's precision."""
    if values.dtype == matrix.dtype:
        return values @ matrix
    return (values.to(matrix.dtype) @ matrix).to(values.dtype)


def add_product(
    sums: Float[Tensor, "R D"], values: Float[Tensor, "R E"], matrix: Float[Tensor, "E D"]
) -> Float[Tensor, "R D"]:
    """`sums + values @ matrix`, with the product in the matrix's precision."""
    if values.dtype == matrix.dtype:
        return torch.addmm(sums, values, matrix)
    return sums + values.to(matrix.dtype) @ matrix


def transpose_weights(recur: Float[Tensor, "E D"], steps: int) -> Float[Tensor, "D E"]:
    """The transposed recurrent matrix, made contiguous if enough steps use it."""
    return recur.t().contiguous() if not is_traced() and steps > 8 else recur.t()


def sigmoid_backward(gradient: Tensor, value: Tensor, out: Tensor) -> None:
    """Write to `out` the gradient before a sigmoid, from the one after it and the
    sigmoid's value.
    """
    torch.ops.aten.sigmoid_backward.grad_input(gradient, value, grad_input=out)


def tanh_backward(gradient: Tensor, value: Tensor, out: Tensor) -> None:
    """Write to `out` the gradient before a tanh, from the one after it and the tanh's value."""
    torch.ops.aten.tanh_backward.grad_input(gradient, value, grad_input=out)


def previous_states(
    first: Float[Tensor, "R D"], states: Float[Tensor, "T R D"]
) -> Float[Tensor, "T R D"]:
    """The state before each step."""
    return torch.cat([first.unsqueeze(0), states[:-1]])


def weight_gradient(
    deltas: Float[Tensor, "T R E"], inputs: Float[Tensor, "T R D"], precision: torch.dtype
) -> Float[Tensor, "E D"]:
    """The gradient of a recurrent matrix over all steps, as one product."""
    return product(deltas.flatten(0, 1).t(), inputs.flatten(0, 1).to(precision))
