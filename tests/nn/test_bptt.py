"""S6.2: backpropagation through time written out by hand, as an oracle for autograd.

With C = (1/T) Σ C_t, J_t = ∂h_t/∂h_{t−1} = diag(g'_t) W_hh, it is
δ_t = (1/T) ∂C_t/∂h_t + J_{t+1}ᵀ δ_{t+1} and g_W = Σ_t diag(g'_t) δ_t h_{t−1}ᵀ.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.nn.units import Activation, Elman
from tests.nn.parts import stirred, values

Array = NDArray[np.float64]

INPUTS, WIDTH, WORDS, STEPS = 3, 4, 5, 6
TARGETS = np.array([4, 0, 2, 2, 1, 3])
# Each activation g, and its slope as a function of its value.
ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "tanh": (np.tanh, lambda h: 1 - h**2),
    "relu": (lambda a: np.maximum(a, 0.0), lambda h: (h > 0).astype(float)),
    "sigmoid": (lambda a: 1 / (1 + np.exp(-a)), lambda h: h * (1 - h)),
    "identity": (lambda a: a, np.ones_like),
}
each_activation = pytest.mark.parametrize("activation", ACTIVATIONS)


class Net(NamedTuple):
    """h_t = g(W h_{t−1} + U x_t + b) in NumPy."""

    w: Array
    u: Array
    b: Array
    activation: str

    def run(self, inputs: Array, first: Array) -> Array:
        """h_0, h_1, …, h_T."""
        squash, _ = ACTIVATIONS[self.activation]
        states = [first]
        for x in inputs:
            states.append(squash(self.w @ states[-1] + self.u @ x + self.b))
        return np.stack(states)

    def slopes(self, states: Array) -> Array:
        """g'_t at every state."""
        _, slope = ACTIVATIONS[self.activation]
        return slope(states)

    def deltas(self, states: Array, direct: Array) -> Array:
        """δ_1 … δ_T from h_0 … h_T, where `direct` is (1/T) ∂C_t/∂h_t."""
        slopes, deltas = self.slopes(states), np.zeros_like(direct)
        later = np.zeros_like(states[0])
        for t in reversed(range(len(direct))):
            deltas[t] = direct[t] + later
            later = (np.diag(slopes[t + 1]) @ self.w).T @ deltas[t]
        return deltas

    def gradients(self, states: Array, deltas: Array, inputs: Array) -> tuple[Array, Array, Array]:
        """g_W, g_U and g_b, each a sum over the steps."""
        slopes = self.slopes(states)
        to_w, to_u, to_b = np.zeros_like(self.w), np.zeros_like(self.u), np.zeros_like(self.b)
        for t, delta in enumerate(deltas):
            before = np.diag(slopes[t + 1]) @ delta
            to_w += np.outer(before, states[t])
            to_u += np.outer(before, inputs[t])
            to_b += before
        return to_w, to_u, to_b


def elman(inputs: int, width: int, activation: Activation) -> Elman:
    torch.manual_seed(width)
    return stirred(Elman(inputs, width, activation=activation))


def in_numpy(unit: Elman, activation: str) -> Net:
    weights = (unit.recur, unit.project.weight, unit.project.bias)
    w, u, b = (weight.detach().numpy() for weight in weights)
    return Net(w, u, b, activation)


def cross_entropy(hidden: Array, output: Array) -> tuple[Array, Array]:
    """C_t = −log softmax(V h_t) at the target, and ∂C_t/∂h_t = Vᵀ (y_t − target), for all t."""
    logits = hidden @ output.T
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    costs = -np.log(shares[np.arange(len(hidden)), TARGETS[: len(hidden)]])
    return costs, (shares - np.eye(WORDS)[TARGETS[: len(hidden)]]) @ output


def mean_cost(hidden: Tensor, output: Tensor, first: int = 0) -> Tensor:
    """The same in torch: (1/T) Σ C_t over the steps from `first` on."""
    targets = torch.from_numpy(TARGETS[first : first + len(hidden)])
    total = torch.nn.functional.cross_entropy(hidden @ output.T, targets, reduction="sum")
    return total / STEPS


@each_activation
def test_gradients_of_all_weights_are_those_by_hand(activation: Activation) -> None:
    """S6.2: g_W, and in the same way g_U and g_b, for each activation of S2.1."""
    unit, output = elman(INPUTS, WIDTH, activation), values(WORDS, WIDTH)
    inputs, first = values(1, STEPS, INPUTS), values(1, WIDTH).requires_grad_()
    net = in_numpy(unit, activation)
    states = net.run(inputs[0].numpy(), first[0].detach().numpy())
    costs, direct = cross_entropy(states[1:], output.numpy())
    deltas = net.deltas(states, direct / STEPS)
    expected = net.gradients(states, deltas, inputs[0].numpy())
    to_first = net.w.T @ (net.slopes(states)[1] * deltas[0])

    hidden, _ = unit(inputs, (first,))
    cost = mean_cost(hidden[0], output)
    weights = (unit.recur, unit.project.weight, unit.project.bias, first)
    found = torch.autograd.grad(cost, weights)
    np.testing.assert_allclose(hidden[0].detach().numpy(), states[1:], rtol=0, atol=1e-14)
    assert float(cost.detach()) == pytest.approx(costs.mean(), abs=1e-14)
    for mine, hand in zip(found, (*expected, to_first[None]), strict=True):
        np.testing.assert_allclose(mine.numpy(), hand, rtol=0, atol=1e-14)


@each_activation
def test_every_delta_is_a_total_derivative(activation: Activation) -> None:
    """S6.2: δ_t is the gradient of all costs from t on with respect to a unit's state h_t."""
    unit, output = elman(INPUTS, WIDTH, activation), values(WORDS, WIDTH)
    inputs = values(1, STEPS, INPUTS)
    net = in_numpy(unit, activation)
    states = net.run(inputs[0].numpy(), np.zeros(WIDTH))
    _, direct = cross_entropy(states[1:], output.numpy())
    deltas = net.deltas(states, direct / STEPS)
    for t in range(1, STEPS + 1):
        state = torch.from_numpy(states[t : t + 1].copy()).requires_grad_()
        cost = mean_cost(state, output, first=t - 1)
        if t < STEPS:
            later, _ = unit(inputs[:, t:], (state,))
            cost = cost + mean_cost(later[0], output, first=t)
        (found,) = torch.autograd.grad(cost, state)
        np.testing.assert_allclose(found[0].numpy(), deltas[t - 1], rtol=0, atol=1e-14)


def test_bptt_worked_by_hand() -> None:
    """S10: h_t = .5 h_{t−1} + x_t, x = (1,0,0): δ = (7/12, 1/2, 1/3) and dC/dw = 2/3."""
    net = Net(np.array([[0.5]]), np.array([[1.0]]), np.zeros(1), "identity")
    inputs = np.array([[1.0], [0.0], [0.0]])
    states = net.run(inputs, np.zeros(1))
    deltas = net.deltas(states, np.full((3, 1), 1 / 3))
    assert deltas.flatten().tolist() == pytest.approx([7 / 12, 1 / 2, 1 / 3])
    assert float(net.gradients(states, deltas, inputs)[0][0, 0]) == pytest.approx(2 / 3)

    unit = Elman(1, 1, activation="identity", bias=False).double()
    with torch.no_grad():
        unit.recur.fill_(0.5)
        unit.project.weight.fill_(1.0)
    hidden, _ = unit(torch.from_numpy(inputs)[None], (torch.zeros(1, 1, dtype=torch.float64),))
    assert hidden.flatten().tolist() == [1, 0.5, 0.25]
    hidden.mean().backward()
    assert unit.recur.grad is not None
    assert unit.recur.grad.item() == pytest.approx(2 / 3)


def test_a_linear_net_with_its_loss_at_the_end() -> None:
    """S10: δ_t = (W_hhᵀ)^{T−t} δ_T, which is also the gradient of a state t steps earlier."""
    unit = elman(INPUTS, WIDTH, "identity")
    net, inputs = in_numpy(unit, "identity"), values(1, STEPS, INPUTS)
    states = net.run(inputs[0].numpy(), np.zeros(WIDTH))
    last = values(WIDTH).numpy()
    deltas = net.deltas(states, np.vstack([np.zeros((STEPS - 1, WIDTH)), last]))
    for t in range(1, STEPS):
        closed = np.linalg.matrix_power(net.w.T, STEPS - t) @ last
        np.testing.assert_allclose(deltas[t - 1], closed, rtol=1e-12)
        state = torch.from_numpy(states[t : t + 1].copy()).requires_grad_()
        hidden, _ = unit(inputs[:, t:], (state,))
        (found,) = torch.autograd.grad(hidden[0, -1] @ torch.from_numpy(last), state)
        np.testing.assert_allclose(found[0].numpy(), closed, rtol=1e-12)
