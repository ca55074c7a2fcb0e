"""SPEC S2.3, S2.7, RELIABILITY C4: the LSTM against its equations, torch's own, and by hand."""

import math

import pytest
import torch
from torch import Tensor, nn

from seqloom.nn.units import Lstm
from tests.nn.parts import in_torch_s_order, lstm_weights, stirred, values

pytestmark = pytest.mark.faults

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
each_precision = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


def lstm(inputs: int, width: int, dtype: torch.dtype = torch.float64) -> Lstm:
    """A unit none of whose weights is zero."""
    torch.manual_seed(width)
    return stirred(Lstm(inputs, width)).to(dtype)


def given(unit: Lstm, rows: int, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, a first hidden state and a first cell that all want gradients."""
    inputs = values(rows, steps, unit.project.in_features)
    first = values(2, rows, unit.width)
    hidden, cell = first[0], first[1]
    dtype = unit.recur.dtype
    inputs, hidden, cell = (each.to(dtype) for each in (inputs, hidden, cell))
    return inputs.requires_grad_(), hidden.requires_grad_(), cell.requires_grad_()


def torch_lstm(unit: Lstm) -> nn.LSTM:
    """Torch's own with the same weights; its second bias is zero."""
    from_input, from_hidden, bias = (in_torch_s_order(part) for part in lstm_weights(unit))
    reference = nn.LSTM(from_input.shape[1], unit.width, batch_first=True).to(from_input.dtype)
    values = [from_input, from_hidden, bias, torch.zeros_like(bias)]
    with torch.no_grad():
        for parameter, value in zip(reference.parameters(), values, strict=True):
            parameter.copy_(value)
    return reference


@each_precision
def test_outputs_and_states_are_those_of_torch(dtype: torch.dtype) -> None:
    unit = lstm(3, 5, dtype)
    inputs, hidden, cell = given(unit, rows=4, steps=6)
    outputs, states = unit(inputs, (hidden, cell))
    expected, (last_hidden, last_cell) = torch_lstm(unit)(inputs, (hidden[None], cell[None]))
    pairs = [
        (outputs, expected),
        (states[0][:, -1], last_hidden[0]),
        (states[1][:, -1], last_cell[0]),
    ]
    for mine, theirs in pairs:
        torch.testing.assert_close(mine, theirs, rtol=0, atol=TOLERANCE[dtype])


@each_precision
def test_gradients_are_those_of_torch(dtype: torch.dtype) -> None:
    """Of inputs, first state and all weights, for a loss on outputs and on the last cell."""
    unit = lstm(3, 5, dtype)
    reference = torch_lstm(unit)
    start = given(unit, rows=4, steps=6)
    outputs, (_, cells) = unit(start[0], start[1:])
    loss = outputs.square().sum() + (3 * cells[:, -1]).sin().sum()
    mine = torch.autograd.grad(loss, [*start, *lstm_weights(unit)])
    outputs, (_, cell) = reference(start[0], (start[1][None], start[2][None]))
    loss = outputs.square().sum() + (3 * cell).sin().sum()
    # Both biases of torch's unit have the same gradient; one of them is enough.
    theirs = torch.autograd.grad(loss, [*start, *list(reference.parameters())[:3]])
    for gradient, expected in zip(mine[:3], theirs[:3], strict=True):
        torch.testing.assert_close(gradient, expected, rtol=0, atol=20 * TOLERANCE[dtype])
    for gradient, expected in zip(mine[3:], theirs[3:], strict=True):
        turned = in_torch_s_order(gradient)
        torch.testing.assert_close(turned, expected, rtol=0, atol=50 * TOLERANCE[dtype])


@pytest.mark.parametrize("steps", [1, 4])
def test_the_gradient_written_by_hand_is_the_numerical_one(steps: int) -> None:
    """RELIABILITY C4: gradcheck, with respect to inputs, first state and every weight."""
    unit = lstm(2, 3)
    names = [name for name, _ in unit.named_parameters()]

    def outputs(inputs: Tensor, hidden: Tensor, cell: Tensor, *given: Tensor) -> list[Tensor]:
        parameters = dict(zip(names, given, strict=True))
        found, (_, cells) = torch.func.functional_call(unit, parameters, (inputs, (hidden, cell)))
        return [found, cells]

    start = given(unit, rows=2, steps=steps)
    assert torch.autograd.gradcheck(outputs, (*start, *unit.parameters()))


def test_every_step_obeys_the_equations() -> None:
    """SPEC S2.3 step by step; S10: |c_t − f ⊙ c_{t−1}| ≤ 1."""
    unit = lstm(3, 4)
    inputs, hidden, cell = given(unit, rows=5, steps=7)
    outputs, (_, cells) = unit(inputs, (hidden, cell))
    from_input, from_hidden, bias = lstm_weights(unit)
    for step in range(inputs.shape[1]):
        summed = inputs[:, step] @ from_input.T + hidden @ from_hidden.T + bias
        enter, keep, show, candidate = summed.chunk(4, dim=1)
        before = cell
        cell = keep.sigmoid() * before + enter.sigmoid() * candidate.tanh()
        hidden = show.sigmoid() * cell.tanh()
        torch.testing.assert_close(cells[:, step], cell, rtol=0, atol=1e-12)
        torch.testing.assert_close(outputs[:, step], hidden, rtol=0, atol=1e-12)
        assert bool(((cells[:, step] - keep.sigmoid() * before).abs() <= 1).all())


def test_a_unit_worked_by_hand() -> None:
    """Weights 0 open all gates by half; a candidate of 1 gives cells ½, ¾, ⅞, outputs tanh(c)/2."""
    unit = lstm(1, 1)
    with torch.no_grad():
        for parameter in unit.parameters():
            parameter.zero_()
        lstm_weights(unit)[2][3] = 40.0
    inputs = torch.randn(1, 3, 1, dtype=torch.float64)
    outputs, (_, cells) = unit(inputs, unit.zero_state(inputs))
    assert cells.flatten().tolist() == pytest.approx([1 / 2, 3 / 4, 7 / 8])
    assert outputs.flatten().tolist() == pytest.approx(
        [math.tanh(cell) / 2 for cell in (1 / 2, 3 / 4, 7 / 8)]
    )


@pytest.mark.parametrize(("p", "m"), [(8, 20), (1, 1), (5, 3)])
def test_a_unit_has_one_bias_a_gate(p: int, m: int) -> None:
    """SPEC S2.7: 4m² + 4mp + 4m parameters, where torch's own has 4m more."""
    size = sum(parameter.numel() for parameter in lstm(p, m).parameters())
    assert size == 4 * m * m + 4 * m * p + 4 * m


def test_reading_goes_on_from_a_state() -> None:
    """The state after two steps is all that the third needs (SPEC S2)."""
    unit = lstm(3, 4)
    inputs, hidden, cell = given(unit, rows=2, steps=5)
    whole, _ = unit(inputs, (hidden, cell))
    first, states = unit(inputs[:, :2], (hidden, cell))
    second, _ = unit(inputs[:, 2:], tuple(part[:, -1] for part in states))
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole, rtol=0, atol=1e-12)
