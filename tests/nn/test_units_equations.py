"""S2, RELIABILITY C4: units against their equations, written out one by one.

The references are NumPy in float64 and know one row, one step and one matrix at a time.
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.nn.units import Activation, Elman, Gru, Lstm, ResetOrder, Ssru, Unit, UpdateConvention
from tests.nn.parts import stirred, values

pytestmark = pytest.mark.faults

Array = NDArray[np.float64]
Next = Callable[[Array, list[Array]], tuple[Array, list[Array]]]
"""From an input and a state, the output and the next state."""


def sigmoid(value: Array) -> Array:
    result: Array = 1 / (1 + np.exp(-value))
    return result


ACTIVATIONS: dict[Activation, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "relu": lambda value: np.maximum(value, 0),
    "sigmoid": sigmoid,
    "identity": lambda value: value,
}
each_activation = pytest.mark.parametrize("activation", ACTIVATIONS)
each_reset = pytest.mark.parametrize("reset", ["before", "after"])
each_update = pytest.mark.parametrize("update", ["keep", "take"])


def array(tensor: Tensor) -> Array:
    result: Array = tensor.detach().numpy()
    return result


def maps(unit: Unit, bias: bool) -> list[tuple[Array, Array, Array]]:
    """For each affine map its matrix of the state, its matrix of the input, and its bias."""
    recur, project = unit.get_parameter("recur"), unit.get_parameter("project.weight")
    biases = unit.get_parameter("project.bias") if bias else torch.zeros(len(project))
    cut = [array(each).reshape(-1, unit.width, each.shape[1]) for each in (recur, project)]
    return list(zip(*cut, array(biases).reshape(-1, unit.width), strict=True))


def affine(of: tuple[Array, Array, Array], state: Array, read: Array) -> Array:
    matrix, other, bias = of
    result: Array = matrix @ state + other @ read + bias
    return result


def elman_equations(unit: Elman, bias: bool) -> Next:
    """S2.1."""
    (only,) = maps(unit, bias)

    def step(read: Array, state: list[Array]) -> tuple[Array, list[Array]]:
        hidden = ACTIVATIONS[unit.activation](affine(only, state[0], read))
        return hidden, [hidden]

    return step


def lstm_equations(unit: Lstm, bias: bool) -> Next:
    """S2.3."""
    for_enter, for_keep, for_show, for_candidate = maps(unit, bias)

    def step(read: Array, state: list[Array]) -> tuple[Array, list[Array]]:
        hidden, cell = state
        enter = sigmoid(affine(for_enter, hidden, read))
        keep = sigmoid(affine(for_keep, hidden, read))
        show = sigmoid(affine(for_show, hidden, read))
        candidate = np.tanh(affine(for_candidate, hidden, read))
        cell = keep * cell + enter * candidate
        return show * np.tanh(cell), [show * np.tanh(cell), cell]

    return step


def gru_equations(unit: Gru, bias: bool, reset: ResetOrder, update: UpdateConvention) -> Next:
    """S2.4, in each of its forms."""
    for_reset, for_update, for_candidate = maps(unit, bias)

    def step(read: Array, state: list[Array]) -> tuple[Array, list[Array]]:
        (hidden,) = state
        r = sigmoid(affine(for_reset, hidden, read))
        z = sigmoid(affine(for_update, hidden, read))
        if reset == "before":
            candidate = np.tanh(affine(for_candidate, r * hidden, read))
        else:
            nothing = np.zeros_like(hidden)
            product = for_candidate[0] @ hidden
            candidate = np.tanh(affine(for_candidate, nothing, read) + r * product)
        if update == "keep":
            hidden = z * hidden + (1 - z) * candidate
        else:
            hidden = (1 - z) * hidden + z * candidate
        return hidden, [hidden]

    return step


def ssru_equations(unit: Ssru, bias: bool) -> Next:
    """`f = σ(W_f x + b_f)`, `c = f ⊙ c + (1−f) ⊙ W x`, `h = relu(c)`."""
    for_forget, for_value = np.split(array(unit.project.weight), 2)
    shift = array(unit.get_parameter("bias")) if bias else np.zeros(unit.width)

    def step(read: Array, state: list[Array]) -> tuple[Array, list[Array]]:
        forget = sigmoid(for_forget @ read + shift)
        cell = forget * state[0] + (1 - forget) * (for_value @ read)
        return np.maximum(cell, 0), [cell]

    return step


def obeys(unit: Unit, equations: Callable[[], Next]) -> None:
    """Compare all that the unit gives for five rows of seven steps, from a state that is not 0."""
    torch.manual_seed(5)
    stirred(unit)
    step = equations()
    inputs = values(5, 7, 3)
    first = values(unit.parts, 5, unit.width)
    outputs, states = unit(inputs, tuple(first))
    for row in range(5):
        state = [array(part) for part in first[:, row]]
        for t in range(7):
            output, state = step(array(inputs[row, t]), state)
            np.testing.assert_allclose(array(outputs[row, t]), output, rtol=0, atol=1e-12)
            for found, expected in zip(states, state, strict=True):
                np.testing.assert_allclose(array(found[row, t]), expected, rtol=0, atol=1e-12)


each_bias = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])


@each_bias
@each_activation
def test_an_elman_unit_obeys_its_equation(activation: Activation, bias: bool) -> None:
    unit = Elman(3, 4, activation=activation, bias=bias)
    obeys(unit, lambda: elman_equations(unit, bias))


@each_bias
def test_an_lstm_obeys_its_equations(bias: bool) -> None:
    unit = Lstm(3, 4, bias=bias)
    obeys(unit, lambda: lstm_equations(unit, bias))


@each_bias
@each_update
@each_reset
def test_a_gru_obeys_its_equations(reset: ResetOrder, update: UpdateConvention, bias: bool) -> None:
    unit = Gru(3, 4, reset=reset, update=update, bias=bias)
    obeys(unit, lambda: gru_equations(unit, bias, reset, update))


@each_bias
def test_an_ssru_obeys_its_equations(bias: bool) -> None:
    unit = Ssru(3, 4, bias=bias)
    obeys(unit, lambda: ssru_equations(unit, bias))
