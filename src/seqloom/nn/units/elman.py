"""The Elman unit (S2.1)."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seqloom.config import UNITS, ElmanConfig
from seqloom.nn.autograd_functions import apply_function
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
    transpose_weights,
    weight_gradient,
)

__all__ = ["Activation", "Elman"]

Activation = Literal["tanh", "relu", "sigmoid", "identity"]


@UNITS.part("elman")
class Elman(Unit):
    """Elman unit: `h_t = g(W_hh h_{t-1} + W_hx x_t + b)` (S2.1); the state is h.

    Elman 1990, Finding Structure in Time.
    """

    label = "Elman"

    def __init__(  # noqa: PLR0913
        self,
        inputs: int,
        width: int,
        *,
        activation: Activation = "tanh",
        bias: bool = True,
        weights: WeightInitialization = "orthogonal",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.width = width
        self.activation = activation
        self.weights = weights
        self.dropout = Dropout(dropout)
        self.project = nn.Linear(inputs, width, bias=bias)
        self.recur = nn.Parameter(torch.empty(width, width))
        self.reset_parameters()

    @classmethod
    def build(cls, options: ElmanConfig, inputs: int, width: int) -> "Elman":
        return cls(
            inputs,
            width,
            activation=options.activation,
            bias=options.bias,
            weights=options.weights,
            dropout=options.dropout,
        )

    def reset_parameters(self) -> None:
        """Reinitialize all weights."""
        draw_input_weights(self.project, self.weights)
        draw_recurrent_weights(self.recur, self.weights)

    def forward(
        self, inputs: Float[Tensor, "R T I"], state: UnitState
    ) -> tuple[Float[Tensor, "R T D"], tuple[Float[Tensor, "R T D"], ...]]:
        """The output of every step, and the state after every step."""
        sums = self.project(inputs.transpose(0, 1))  # (T, R, D)
        shape, recur = _ACTIVATIONS[self.activation], self.dropout(self.recur)
        if torch.is_grad_enabled():
            hidden = apply_function(_Scan, sums, state[0], shape, matrix=recur)
        else:
            step = partial(_step, turned=transpose_weights(recur, sums.shape[0]), shape=shape)
            (hidden,) = scan_states(step, sums, state)
        hidden = hidden.transpose(0, 1)  # (R, T, D)
        return hidden, (hidden,)

    def recurrent_matrices(self) -> dict[str, Float[Tensor, "D D"]]:
        return {"state": self.recur}


class _ActivationFunction(NamedTuple):
    """An in-place activation, and its derivative as a function of its value."""

    apply: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]


_ACTIVATIONS: dict[Activation, _ActivationFunction] = {
    "tanh": _ActivationFunction(Tensor.tanh_, lambda value: 1 - value.square()),
    "relu": _ActivationFunction(Tensor.relu_, lambda value: (value > 0).to(value.dtype)),
    "sigmoid": _ActivationFunction(Tensor.sigmoid_, lambda value: value * (1 - value)),
    "identity": _ActivationFunction(lambda value: value, torch.ones_like),
}


def _step(
    summed: Tensor, state: UnitState, *, turned: Tensor, shape: _ActivationFunction
) -> UnitState:
    """One step from its projected input."""
    return (shape.apply(add_product(summed, state[0], turned)),)


class _Scan(torch.autograd.Function):
    """The loop over time, from projected inputs to all hidden states.

    Werbos 1990, Backpropagation Through Time.
    """

    @staticmethod
    def forward(
        ctx: Any, recur: Tensor, sums: Tensor, first: Tensor, shape: _ActivationFunction
    ) -> Tensor:
        step = partial(_step, turned=transpose_weights(recur, sums.shape[0]), shape=shape)
        (hiddens,) = scan_steps(step, sums, (first,))
        ctx.save_for_backward(first, recur, hiddens)
        ctx.slope = shape.slope
        return hiddens

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_hiddens: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        first, recur, hiddens = ctx.saved_tensors
        deltas = torch.empty_like(hiddens)
        slopes = ctx.slope(hiddens).unbind()
        to_hidden = to_hiddens[-1]
        for t in reversed(range(len(slopes))):
            delta = torch.mul(to_hidden, slopes[t], out=deltas[t])
            to_hidden = add_product(to_hiddens[t - 1], delta, recur) if t else product(delta, recur)
        to_recur = weight_gradient(deltas, previous_states(first, hiddens), recur.dtype)
        return to_recur, deltas, to_hidden, None
