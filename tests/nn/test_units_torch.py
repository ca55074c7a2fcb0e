"""S2, RELIABILITY C4: units against torch's own, where torch has the same; its second bias is
zero."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from seqloom.nn.units import Elman, Gru, Lstm, Unit
from tests.nn.parts import in_torch_s_order, stirred, values

pytestmark = pytest.mark.faults

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
each_precision = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


@dataclass(frozen=True)
class Pair:
    """A unit, torch's of the same size, and how rows of weights lie in torch's order."""

    unit: Unit
    reference: nn.RNNBase
    signs: Tensor  # of rows of torch's weights; their order is the unit's, but for the LSTM

    def in_torch_s(self, rows: Tensor) -> Tensor:
        """A weight or bias of the unit, or its gradient, as torch has it."""
        ordered = in_torch_s_order(rows) if isinstance(self.unit, Lstm) else rows
        return ordered * self.signs.to(rows.dtype).reshape(-1, *[1] * (rows.dim() - 1))

    @property
    def weights(self) -> list[Tensor]:
        """From the input, from the hidden state, and the bias."""
        names = ["project.weight", "recur", "project.bias"]
        return [self.unit.get_parameter(name) for name in names]

    def given(self) -> list[Tensor]:
        """Inputs, then a first state, that all want gradients."""
        inputs = values(4, 6, 3)
        state = values(self.unit.parts, 4, self.unit.width).unbind()
        dtype = self.weights[0].dtype
        return [each.to(dtype).clone().requires_grad_() for each in (inputs, *state)]

    def ours(self, given: list[Tensor]) -> list[Tensor]:
        """Outputs, and each tensor of the last state."""
        outputs, states = self.unit(given[0], tuple(given[1:]))
        return [outputs, *(part[:, -1] for part in states)]

    def theirs(self, given: list[Tensor]) -> list[Tensor]:
        """The same of torch's."""
        state = [part[None] for part in given[1:]]
        outputs, last = self.reference(given[0], tuple(state) if len(state) > 1 else state[0])
        return [outputs, *(part[0] for part in (last if isinstance(last, tuple) else [last]))]


def elman(activation: Literal["tanh", "relu"]) -> Pair:
    reference = nn.RNN(3, 5, nonlinearity=activation, batch_first=True)
    return Pair(Elman(3, 5, activation=activation), reference, torch.ones(5))


def lstm() -> Pair:
    return Pair(Lstm(3, 5), nn.LSTM(3, 5, batch_first=True), torch.ones(20))


def gru(update: Literal["keep", "take"]) -> Pair:
    """Torch's keeps where its update gate is open; σ(−a) = 1 − σ(a) makes it the other kind."""
    signs = torch.ones(15)
    signs[5:10] = 1 if update == "keep" else -1
    return Pair(Gru(3, 5, reset="after", update=update), nn.GRU(3, 5, batch_first=True), signs)


PAIRS: dict[str, Callable[[], Pair]] = {
    "elman-tanh": partial(elman, "tanh"),
    "elman-relu": partial(elman, "relu"),
    "lstm": lstm,
    "gru-after-keep": partial(gru, "keep"),
    "gru-after-take": partial(gru, "take"),
}


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest) -> Pair:
    """A unit none of whose weights is zero, and torch's with the same weights."""
    torch.manual_seed(3)
    found = PAIRS[request.param]()
    stirred(found.unit)
    found.reference.double()
    bias = found.weights[2]
    values = [*map(found.in_torch_s, found.weights), torch.zeros_like(bias)]
    with torch.no_grad():
        for parameter, value in zip(found.reference.parameters(), values, strict=True):
            parameter.copy_(value)
    return found


def to(pair: Pair, dtype: torch.dtype) -> Pair:
    return replace(pair, unit=pair.unit.to(dtype), reference=pair.reference.to(dtype))


@each_precision
def test_outputs_and_states_are_those_of_torch(pair: Pair, dtype: torch.dtype) -> None:
    pair = to(pair, dtype)
    given = pair.given()
    for mine, theirs in zip(pair.ours(given), pair.theirs(given), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=TOLERANCE[dtype])


@each_precision
def test_gradients_are_those_of_torch(pair: Pair, dtype: torch.dtype) -> None:
    """Of inputs, first state and all weights, for a loss on outputs and on the last state."""
    pair = to(pair, dtype)
    given = pair.given()
    mine = torch.autograd.grad(loss(pair.ours(given)), [*given, *pair.weights])
    # Both biases of torch's unit have the same gradient; one of them is enough.
    weights = list(pair.reference.parameters())[:3]
    theirs = torch.autograd.grad(loss(pair.theirs(given)), [*given, *weights])
    found = [*mine[: len(given)], *map(pair.in_torch_s, mine[len(given) :])]
    for gradient, expected in zip(found, theirs, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=0, atol=50 * TOLERANCE[dtype])


def loss(found: list[Tensor]) -> Tensor:
    """One that every step and every tensor of the last state changes."""
    outputs, *state = found
    return outputs.square().sum() + sum(((3 * part).sin().sum() for part in state), torch.zeros(()))
