"""The gated recurrent unit in its three forms (S2.4)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seqloom.config import UNITS, GruConfig
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
    sigmoid_backward,
    tanh_backward,
    transpose_weights,
    weight_gradient,
)

__all__ = ["Gru", "ResetOrder", "UpdateConvention"]

ResetOrder = Literal["before", "after"]
UpdateConvention = Literal["keep", "take"]
GatedStep = Callable[..., tuple[Tensor, ...]]


@UNITS.part("gru")
class Gru(Unit):
    """Gated recurrent unit with one bias per gate (S2.4, S2.7); the state is h.

    Reset "before" has the candidate `tanh(W (r ⊙ h) + U x + b)`, "after" `tanh(r ⊙ W h + U x + b)`.
    Update "keep" gives `z ⊙ h + (1−z) ⊙ candidate`, "take" `(1−z) ⊙ h + z ⊙ candidate`.

    Cho et al. 2014, Learning Phrase Representations using RNN Encoder-Decoder (before, keep);
    Chung et al. 2014, Empirical Evaluation of Gated Recurrent Neural Networks (take).
    """

    label = "GRU"

    gate_names = ("reset", "update")

    def __init__(  # noqa: PLR0913
        self,
        inputs: int,
        width: int,
        *,
        reset: ResetOrder = "before",
        update: UpdateConvention = "keep",
        bias: bool = True,
        weights: WeightInitialization = "orthogonal",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.width = width
        self.reset = reset
        self.keep = update == "keep"
        self.weights = weights
        self.dropout = Dropout(dropout)
        # Gates in the order r, z, candidate.
        self.project = nn.Linear(inputs, 3 * width, bias=bias)
        self.recur = nn.Parameter(torch.empty(3 * width, width))
        self.reset_parameters()

    @classmethod
    def build(cls, options: GruConfig, inputs: int, width: int) -> "Gru":
        return cls(
            inputs,
            width,
            reset=options.reset,
            update=options.update,
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
        sums = self.project(inputs.transpose(0, 1))  # (T, R, 3D)
        form, recur = _FORMS[self.reset], self.dropout(self.recur)
        if torch.is_grad_enabled():
            hidden = apply_function(form.scan, sums, state[0], self.keep, matrix=recur)
        else:
            step = partial(
                form.step, turned=transpose_weights(recur, sums.shape[0]), keep=self.keep
            )
            (hidden,) = scan_states(step, sums, state)
        hidden = hidden.transpose(0, 1)  # (R, T, D)
        return hidden, (hidden,)

    def gates(
        self, inputs: Float[Tensor, "R I"], state: UnitState
    ) -> dict[str, Float[Tensor, "R D"]]:
        sums = self.project(inputs) + state[0] @ self.recur.t()
        reset, update, _ = sums.sigmoid().chunk(3, dim=1)
        return {"reset": reset, "update": update}

    def retention(self, gates: Mapping[str, Float[Tensor, "R D"]]) -> Float[Tensor, "R D"]:
        return gates["update"] if self.keep else 1 - gates["update"]

    def recurrent_matrices(self) -> dict[str, Float[Tensor, "D D"]]:
        return dict(zip((*self.gate_names, "candidate"), self.recur.chunk(3), strict=True))


def _step_before(
    summed: Tensor, state: UnitState, *, turned: Tensor, keep: bool
) -> tuple[Tensor, ...]:
    """One step from its projected input: hidden state; r and z, candidate, r ⊙ h."""
    (hidden,) = state
    cut = 2 * hidden.shape[1]
    gates = add_product(summed[:, :cut], hidden, turned[:, :cut]).sigmoid_()
    reset, update = gates.chunk(2, dim=1)
    left = reset * hidden
    candidate = add_product(summed[:, cut:], left, turned[:, cut:]).tanh_()
    return _blend(hidden, candidate, update, keep=keep), gates, candidate, left


class _ResetBefore(torch.autograd.Function):
    """The loop over time with the reset before the product, from projected inputs to states."""

    @staticmethod
    def forward(ctx: Any, recur: Tensor, sums: Tensor, first: Tensor, keep: bool) -> Tensor:
        ctx.keep = keep
        return _scan(ctx, partial(_step_before, keep=keep), sums, first, recur)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_hiddens: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        first, recur, hiddens, gates, candidate, left = ctx.saved_tensors
        width = first.shape[1]
        earlier, reset = previous_states(first, hiddens), gates[:, :, :width]
        stay, slopes = _blend_slopes(earlier, gates, candidate, keep=ctx.keep)
        reset_slopes = torch.empty_like(left)
        sigmoid_backward(earlier, reset, reset_slopes)
        deltas = gates.new_empty(*gates.shape[:2], 3, width)  # of r, z, candidate
        flat = deltas.flatten(2)
        to_hidden = to_hiddens[-1]
        for t in reversed(range(len(deltas))):
            torch.mul(slopes[t], to_hidden.unsqueeze(1), out=deltas[t, :, 1:])
            to_left = product(deltas[t, :, 2], recur[2 * width :])
            torch.mul(to_left, reset_slopes[t], out=deltas[t, :, 0])
            to_hidden = torch.mul(to_hidden, stay[t]).addcmul_(to_left, reset[t])
            to_hidden = add_product(to_hidden, flat[t, :, : 2 * width], recur[: 2 * width])
            if t:
                to_hidden += to_hiddens[t - 1]
        to_gates = weight_gradient(flat[:, :, : 2 * width], earlier, recur.dtype)
        to_candidate = weight_gradient(flat[:, :, 2 * width :], left, recur.dtype)
        return torch.cat([to_gates, to_candidate]), flat, to_hidden, None


def _step_after(
    summed: Tensor, state: UnitState, *, turned: Tensor, keep: bool
) -> tuple[Tensor, ...]:
    """One step from its projected input: hidden state; r and z, candidate, its W h."""
    (hidden,) = state
    cut = 2 * hidden.shape[1]
    made = product(hidden, turned)
    gates = torch.add(made[:, :cut], summed[:, :cut]).sigmoid_()
    reset, update = gates.chunk(2, dim=1)
    candidate = torch.addcmul(summed[:, cut:], reset, made[:, cut:]).tanh_()
    return _blend(hidden, candidate, update, keep=keep), gates, candidate, made[:, cut:]


class _ResetAfter(torch.autograd.Function):
    """The loop over time with the reset after the product, from projected inputs to states."""

    @staticmethod
    def forward(ctx: Any, recur: Tensor, sums: Tensor, first: Tensor, keep: bool) -> Tensor:
        ctx.keep = keep
        return _scan(ctx, partial(_step_after, keep=keep), sums, first, recur)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_hiddens: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        first, recur, hiddens, gates, candidate, made = ctx.saved_tensors
        width = first.shape[1]
        earlier, reset = previous_states(first, hiddens), gates[:, :, :width]
        stay, slopes = _blend_slopes(earlier, gates, candidate, keep=ctx.keep)
        reset_slopes = torch.empty_like(slopes)
        reset_slopes[:, :, 0] = reset
        sigmoid_backward(made, reset, reset_slopes[:, :, 1])
        # Of the candidate's W h, of r and z, of the candidate: the first three go back to the
        # state before, the last three to the inputs.
        deltas = gates.new_empty(*gates.shape[:2], 4, width)
        flat, rolled = deltas.flatten(2), recur.roll(width, 0)
        to_hidden = to_hiddens[-1]
        for t in reversed(range(len(deltas))):
            torch.mul(slopes[t], to_hidden.unsqueeze(1), out=deltas[t, :, 2:])
            torch.mul(reset_slopes[t], deltas[t, :, 3:], out=deltas[t, :, :2])
            to_hidden = add_product(to_hidden * stay[t], flat[t, :, : 3 * width], rolled)
            if t:
                to_hidden += to_hiddens[t - 1]
        to_recur = weight_gradient(flat[:, :, : 3 * width], earlier, recur.dtype)
        return to_recur.roll(-width, 0), flat[:, :, width:], to_hidden, None


def _scan(ctx: Any, step: GatedStep, sums: Tensor, first: Tensor, recur: Tensor) -> Tensor:
    """Compute all states in either form, saving what the gradient needs."""
    hiddens, *kept = scan_steps(
        partial(step, turned=transpose_weights(recur, sums.shape[0])), sums, (first,)
    )
    ctx.save_for_backward(first, recur, hiddens, *kept)
    return hiddens


def _blend(hidden: Tensor, candidate: Tensor, update: Tensor, *, keep: bool) -> Tensor:
    """The new state, between the old one and the candidate."""
    return torch.lerp(candidate, hidden, update) if keep else torch.lerp(hidden, candidate, update)


def _blend_slopes(
    hidden: Float[Tensor, "T R D"],
    gates: Float[Tensor, "T R E"],
    candidate: Float[Tensor, "T R D"],
    *,
    keep: bool,
) -> tuple[Float[Tensor, "T R D"], Float[Tensor, "T R 2 D"]]:
    """The derivatives of the new state by the old one and by the inputs of z and the candidate."""
    update = gates[:, :, hidden.shape[2] :]
    other = 1 - update
    stay, enter = (update, other) if keep else (other, update)
    slopes = torch.empty_like(gates).unflatten(2, (2, -1))
    sigmoid_backward(hidden - candidate if keep else candidate - hidden, update, slopes[:, :, 0])
    tanh_backward(enter, candidate, slopes[:, :, 1])
    return stay, slopes


class _Form(NamedTuple):
    """The loop over time with its gradient, and one step of it."""

    scan: type[torch.autograd.Function]
    step: GatedStep


_FORMS: dict[ResetOrder, _Form] = {
    "before": _Form(_ResetBefore, _step_before),
    "after": _Form(_ResetAfter, _step_after),
}
