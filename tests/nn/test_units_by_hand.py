"""S2, S10, RELIABILITY C4: units worked by hand, and the properties that their gates give."""

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from seqloom.nn.units import Activation, Elman, Gru, Lstm, ResetOrder, Ssru, Unit, UpdateConvention
from tests.nn.parts import stirred, values

pytestmark = pytest.mark.faults

OPEN, SHUT = 1000.0, -1000.0  # the sigmoid is exactly 1 and 0 there
each_reset = pytest.mark.parametrize("reset", ["before", "after"])
each_update = pytest.mark.parametrize("update", ["keep", "take"])


def with_weights(unit: Unit, **given: Sequence[float] | Sequence[Sequence[float]]) -> Unit:
    """The unit in float64, all its weights zero but these: `recur`, `weight`, `bias`."""
    unit.double()
    names = {name.rpartition(".")[2]: name for name, _ in unit.named_parameters()}
    with torch.no_grad():
        for parameter in unit.parameters():
            parameter.zero_()
        for name, value in given.items():
            unit.get_parameter(names[name]).copy_(torch.tensor(value))
    return unit


def read(unit: Unit, *steps: float, state: tuple[list[float], ...] | None = None) -> list[Tensor]:
    """Outputs and states after every step, each (T,D), of one row of single inputs."""
    inputs = torch.tensor(steps, dtype=torch.float64).reshape(1, -1, 1)
    first = unit.zero_state(inputs)
    if state is not None:
        first = tuple(torch.tensor([part], dtype=torch.float64) for part in state)
    outputs, states = unit(inputs, first)
    return [part[0] for part in (outputs, *states)]


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("identity", [1, -1.5, 2.75]),
        ("relu", [1, 0, 2]),
        ("tanh", [math.tanh(1), math.tanh(-1 - math.tanh(1) / 2)]),
        ("sigmoid", [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1 + 0.5 / (1 + math.exp(-1))))]),
    ],
)
def test_an_elman_unit_worked_by_hand(activation: Activation, expected: list[float]) -> None:
    """`h_t = g(−h_{t-1}/2 + x_t)` over 1, −1, 2."""
    unit = with_weights(Elman(1, 1, activation=activation), recur=[[-0.5]], weight=[[1]])
    outputs, _ = read(unit, *[1, -1, 2][: len(expected)])
    assert outputs.flatten().tolist() == pytest.approx(expected)


def test_an_lstm_worked_by_hand() -> None:
    """Weights 0 open all gates by half; a candidate of 1 gives cells ½, ¾, ⅞, outputs tanh(c)/2."""
    unit = with_weights(Lstm(1, 1), bias=[0, 0, 0, OPEN])
    outputs, hidden, cells = read(unit, 5, -7, 1)
    assert cells.flatten().tolist() == pytest.approx([1 / 2, 3 / 4, 7 / 8])
    expected = [math.tanh(cell) / 2 for cell in (1 / 2, 3 / 4, 7 / 8)]
    assert outputs.flatten().tolist() == pytest.approx(expected)
    assert torch.equal(outputs, hidden)


def test_an_lstm_remembers_for_as_long_as_its_gates_say() -> None:
    """With i shut and f open the cell stays; with i open and f shut it is the candidate alone."""
    closed = with_weights(Lstm(1, 1), bias=[SHUT, OPEN, OPEN, 0], weight=[[0], [0], [0], [1]])
    _, _, cells = read(closed, 3, -2, 9, state=([0.3], [0.7]))
    assert cells.flatten().tolist() == [0.7, 0.7, 0.7]
    fresh = with_weights(Lstm(1, 1), bias=[OPEN, SHUT, OPEN, 0], weight=[[0], [0], [0], [1]])
    _, _, cells = read(fresh, 3, -2, state=([0.3], [0.7]))
    assert cells.flatten().tolist() == pytest.approx([math.tanh(3), math.tanh(-2)])


@each_reset
@each_update
def test_a_gru_worked_by_hand(reset: ResetOrder, update: UpdateConvention) -> None:
    """A candidate of 1 half taken at every step gives ½, ¾, ⅞ in all forms."""
    unit = with_weights(Gru(1, 1, reset=reset, update=update), bias=[0, 0, OPEN])
    outputs, _ = read(unit, 5, -7, 1)
    assert outputs.flatten().tolist() == pytest.approx([1 / 2, 3 / 4, 7 / 8])


@each_reset
@pytest.mark.parametrize(("update", "expected"), [("keep", [0.25, 0.25]), ("take", [1, 1])])
def test_an_open_update_gate_keeps_or_takes(
    reset: ResetOrder, update: UpdateConvention, expected: list[float]
) -> None:
    """S2.4: the two conventions read the same gate in opposite ways."""
    unit = with_weights(Gru(1, 1, reset=reset, update=update), bias=[0, OPEN, OPEN])
    outputs, _ = read(unit, 5, -7, state=([0.25],))
    assert outputs.flatten().tolist() == expected


@pytest.mark.parametrize(
    ("reset", "expected"), [("before", [0, math.tanh(2)]), ("after", [math.tanh(3), 0])]
)
def test_the_reset_comes_before_or_after_the_product(
    reset: ResetOrder, expected: list[float]
) -> None:
    """S2.4: with r = (1, 0), h = (2, 3) and a W that swaps, W(r ⊙ h) = (0, 2) and
    r ⊙ Wh = (3, 0)."""
    unit = with_weights(
        Gru(1, 2, reset=reset),
        recur=[[0, 0], [0, 0], [0, 0], [0, 0], [0, 1], [1, 0]],
        bias=[OPEN, SHUT, SHUT, SHUT, 0, 0],
    )
    outputs, _ = read(unit, 0, state=([2, 3],))
    assert outputs.flatten().tolist() == pytest.approx(expected)


def test_an_ssru_worked_by_hand() -> None:
    """f = ½ and W = 1 over 2, −6, 4: cells 1, −2½, ¾; the output is never negative."""
    unit = with_weights(Ssru(1, 1), weight=[[0], [1]])
    outputs, cells = read(unit, 2, -6, 4)
    assert cells.flatten().tolist() == [1, -2.5, 0.75]
    assert outputs.flatten().tolist() == [1, 0, 0.75]


def gated(unit: Gru, reset: float | None, update: float | None) -> Gru:
    """The unit with what goes into these gates the same whatever is read; None leaves them free."""
    width = unit.width
    with torch.no_grad():
        for rows, value in ((slice(0, width), reset), (slice(width, 2 * width), update)):
            if value is not None:
                unit.recur[rows] = 0
                unit.project.weight[rows] = 0
                unit.project.bias[rows] = value
    return unit


def full(update: UpdateConvention) -> float:
    """What makes the update gate hand over the candidate and nothing else."""
    return SHUT if update == "keep" else OPEN


@each_update
@each_reset
def test_a_gru_with_r_1_and_full_update_is_a_tanh_elman_step(
    reset: ResetOrder, update: UpdateConvention
) -> None:
    """S10."""
    torch.manual_seed(2)
    unit = gated(stirred(Gru(3, 4, reset=reset, update=update)), OPEN, full(update))
    elman = Elman(3, 4).double()
    with torch.no_grad():
        elman.recur.copy_(unit.recur[8:])
        elman.project.weight.copy_(unit.project.weight[8:])
        elman.project.bias.copy_(unit.project.bias[8:])
    inputs, state = values(2, 6, 3), (values(2, 4),)
    found, expected = unit(inputs, state)[0], elman(inputs, state)[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@each_update
@each_reset
def test_a_gru_with_r_0_ignores_the_state_before(
    reset: ResetOrder, update: UpdateConvention
) -> None:
    """S10: its candidate is `tanh(U x + b)`, and with a full update so is its state."""
    torch.manual_seed(2)
    unit = gated(stirred(Gru(3, 4, reset=reset, update=update)), SHUT, full(update))
    inputs = values(2, 6, 3)
    found = unit(inputs, (values(2, 4),))[0]
    candidate = torch.tanh(unit.project(inputs)[..., 8:])
    torch.testing.assert_close(found, candidate, rtol=0, atol=1e-12)
    assert torch.equal(unit(inputs, (100 * values(2, 4),))[0], found)


@each_update
@each_reset
def test_with_r_0_only_the_update_gate_lets_a_gru_remember(
    reset: ResetOrder, update: UpdateConvention
) -> None:
    """S10: half open, it is the mean of the state before and `tanh(U x + b)`."""
    torch.manual_seed(2)
    unit = gated(stirred(Gru(3, 4, reset=reset, update=update)), SHUT, 0.0)
    inputs, first = values(2, 6, 3), values(2, 4)
    found = unit(inputs, (first,))[0]
    before = torch.cat([first.unsqueeze(1), found[:, :-1]], dim=1)
    candidate = torch.tanh(unit.project(inputs)[..., 8:])
    torch.testing.assert_close(found, (before + candidate) / 2, rtol=0, atol=1e-12)


def test_an_lstm_changes_its_cell_by_at_most_1_beyond_the_forget_gate() -> None:
    """S10: |c_t − f ⊙ c_{t−1}| ≤ 1, however large weights, inputs and cells are."""
    torch.manual_seed(2)
    unit = stirred(Lstm(3, 4))
    with torch.no_grad():
        for parameter in unit.parameters():
            parameter.mul_(20)
    inputs, hidden, cell = 10 * values(5, 7, 3), values(5, 4), 50 * values(5, 4)
    outputs, (_, cells) = unit(inputs, (hidden, cell))
    hiddens = torch.cat([hidden.unsqueeze(1), outputs[:, :-1]], dim=1)
    before = torch.cat([cell.unsqueeze(1), cells[:, :-1]], dim=1)
    keep = torch.sigmoid(unit.project(inputs) + hiddens @ unit.recur.T)[..., 4:8]
    change = (cells - keep * before).abs()
    assert change.max().item() <= 1 + 1e-12
    assert change.max().item() > 0.99
    assert outputs.abs().max().item() <= 1


@each_update
@each_reset
def test_a_gru_stays_between_its_state_and_its_candidate(
    reset: ResetOrder, update: UpdateConvention
) -> None:
    """No part of h_t is larger than the largest of |h_{t-1}| and 1."""
    torch.manual_seed(2)
    unit = stirred(Gru(3, 4, reset=reset, update=update))
    first = 3 * values(5, 4)
    outputs, _ = unit(20 * values(5, 7, 3), (first,))
    before = torch.cat([first.unsqueeze(1), outputs[:, :-1]], dim=1)
    assert bool((outputs.abs() <= before.abs().clamp(min=1)).all())
