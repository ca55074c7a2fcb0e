"""S2, S10, RELIABILITY C4: what holds for every unit, their sizes and first weights."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from seqloom.nn.units import Elman, Gru, Lstm, Ssru, Unit, WeightInitialization, hard_gate
from tests.counts import count
from tests.nn.parts import stirred, values
from tests.unit_checks import check_unit

pytestmark = pytest.mark.faults

MakeUnit = Callable[..., Unit]
UNITS: dict[str, MakeUnit] = {
    "elman-tanh": Elman,
    "elman-relu": partial(Elman, activation="relu"),
    "elman-sigmoid": partial(Elman, activation="sigmoid"),
    "elman-identity": partial(Elman, activation="identity"),
    "lstm": Lstm,
    "gru-before-keep": Gru,
    "gru-before-take": partial(Gru, update="take"),
    "gru-after-keep": partial(Gru, reset="after"),
    "gru-after-take": partial(Gru, reset="after", update="take"),
    "ssru": Ssru,
}
each_unit = pytest.mark.parametrize("make", UNITS.values(), ids=UNITS)
# In full every unit with every first weights, with bias and without; else each unit once or twice,
# with others of these.
WAYS = list(product(UNITS, [True, False], get_args(WeightInitialization)))[:: count(7, 1)]


@pytest.mark.parametrize(("name", "bias", "weights"), WAYS)
def test_a_unit_keeps_the_laws_of_all_units(
    name: str, bias: bool, weights: WeightInitialization
) -> None:
    torch.manual_seed(2)
    check_unit(UNITS[name](2, 3, bias=bias, weights=weights), inputs_size=2)


@pytest.mark.parametrize(("inputs", "width"), [(4, 1), (1, 5), (1, 1)][: count(1, 3)])
@each_unit
def test_a_unit_of_any_size_keeps_the_laws(make: MakeUnit, inputs: int, width: int) -> None:
    torch.manual_seed(2)
    check_unit(make(inputs, width), inputs_size=inputs)


def parameters(unit: nn.Module) -> int:
    return sum(parameter.numel() for parameter in unit.parameters())


@pytest.mark.parametrize(("p", "m"), [(8, 20), (1, 1), (5, 3)])
@each_unit
def test_a_unit_has_one_bias_for_each_affine_map(make: MakeUnit, p: int, m: int) -> None:
    """S2.7: G(m² + mp + m) for G affine maps, where torch's own have Gm more.

    The SSRU has no recurrent matrix and a bias only in its gate.
    """
    unit = make(p, m)
    if isinstance(unit, Ssru):
        expected, biases = 2 * m * p + m, m
    else:
        maps = 4 if isinstance(unit, Lstm) else 3 if isinstance(unit, Gru) else 1
        expected, biases = maps * (m * m + m * p + m), maps * m
    assert parameters(unit) == expected
    assert parameters(make(p, m, bias=False)) == expected - biases


@pytest.mark.parametrize(("make", "whole"), [(Elman, 748), (Lstm, 2488), (Gru, 1908)])
def test_sizes_of_the_worked_example(make: MakeUnit, whole: int) -> None:
    """S10: with p = q = 8 and m = 20, what is not in the unit is the read-out's qm + q."""
    assert parameters(make(8, 20)) + parameters(nn.Linear(20, 8)) == whole


def test_shapes_of_the_worked_example() -> None:
    """S10: a (4,7) batch, two layers of 16, ten words: (4,7,10) and two states of (2,4,16)."""
    tokens = torch.arange(28).reshape(4, 7) % 10
    read, finals = nn.Embedding(10, 8)(tokens), []
    for unit in (Lstm(8, 16), Lstm(16, 16)):
        read, states = unit(read, unit.zero_state(read))
        finals.append([part[:, -1] for part in states])
    assert nn.Linear(16, 10)(read).shape == (4, 7, 10)
    assert [torch.stack(parts).shape for parts in zip(*finals, strict=True)] == [(2, 4, 16)] * 2


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float32])
def test_the_hard_gate_of_the_worked_example(kind: torch.dtype) -> None:
    """S2.5: s = (8, 9, 3), x = (10, 11, 12), g = (0, 1, 0) gives (8, 11, 3)."""
    gate = torch.tensor([0, 1, 0]).to(kind)
    state, inputs = torch.tensor([8, 9, 3]), torch.tensor([10, 11, 12])
    assert hard_gate(gate, inputs, state).tolist() == [8, 11, 3]


def test_a_hard_gate_is_its_equation() -> None:
    """S2.5: `s' = g ⊙ x + (1−g) ⊙ s`, for every g of four zeros and ones."""
    inputs, state = values(2, 4)
    for bits in product([0.0, 1.0], repeat=4):
        gate = torch.tensor(bits, dtype=torch.float64)
        assert torch.equal(hard_gate(gate, inputs, state), gate * inputs + (1 - gate) * state)


@pytest.mark.parametrize("make", [Elman, Lstm, Gru])
def test_recurrent_matrices_start_orthogonal(make: MakeUnit) -> None:
    """`W Wᵀ = 1` for each gate: a state goes through neither growing nor shrinking."""
    unit = make(4, 6).double()
    for gate in _recurrent(unit).split(6):
        identity = torch.eye(6, dtype=torch.float64)
        torch.testing.assert_close(gate @ gate.T, identity, rtol=0, atol=1e-6)


@pytest.mark.parametrize("make", [Elman, Lstm, Gru])
@pytest.mark.parametrize("weights", ["glorot", "uniform", "normal"])
def test_recurrent_matrices_are_drawn_as_asked(
    make: MakeUnit, weights: WeightInitialization
) -> None:
    torch.manual_seed(1)
    for gate in _recurrent(make(5, 100, weights=weights)).split(100):
        is_drawn(gate, weights)


@pytest.mark.parametrize("weights", get_args(WeightInitialization))
@each_unit
def test_input_matrices_are_drawn_as_asked(make: MakeUnit, weights: WeightInitialization) -> None:
    """By Glorot where the recurrent ones are orthogonal."""
    torch.manual_seed(1)
    unit = make(200, 90, weights=weights)
    is_drawn(unit.get_parameter("project.weight"), "glorot" if weights == "orthogonal" else weights)


def is_drawn(matrix: Tensor, weights: WeightInitialization) -> None:
    """With m rows and n columns: Glorot's is uniform within √(6/(m+n)), that of the name uniform
    within 1/√n, and normal has a deviation of 1/√n."""
    rows, columns = matrix.shape
    bounds = {"glorot": (6 / (rows + columns)) ** 0.5, "uniform": columns**-0.5}
    if weights == "normal":
        assert matrix.abs().max().item() > 3 * columns**-0.5
        assert matrix.std().item() == pytest.approx(columns**-0.5, rel=0.03)
    else:
        assert 0.99 * bounds[weights] < matrix.abs().max().item() <= bounds[weights]
        assert matrix.std().item() == pytest.approx(bounds[weights] / 3**0.5, rel=0.03)


@pytest.mark.parametrize("weights", get_args(WeightInitialization))
@each_unit
def test_biases_start_at_zero_but_for_an_open_forget_gate(
    make: MakeUnit, weights: WeightInitialization
) -> None:
    unit = make(3, 4, weights=weights)
    (bias,) = (value for name, value in unit.named_parameters() if "bias" in name)
    expected = torch.zeros_like(bias)
    if isinstance(unit, Lstm):
        expected[4:8] = 1
    assert torch.equal(bias, expected)


@each_unit
def test_a_gradient_of_a_gradient_is_refused(make: MakeUnit) -> None:
    """The gradients are written by hand for one order, and say so rather than be wrong."""
    unit = stirred(make(2, 3))
    inputs = values(2, 4, 2).requires_grad_()
    outputs, _ = unit(inputs, unit.zero_state(inputs))
    (first,) = torch.autograd.grad(outputs.square().sum(), inputs, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.square().sum().backward()


@pytest.mark.parametrize("make", [UNITS[name] for name in UNITS if name != "ssru"])
def test_recurrent_weights_are_left_out_for_a_whole_reading(make: MakeUnit) -> None:
    """S2.6: in training a unit is one whose recurrent matrix has been masked once, in its
    outputs and in the gradients of its weights; in evaluation all of the matrix is there."""
    inputs = values(2, 6, 2)
    unit, masked = stirred(make(2, 5, dropout=0.5)), make(2, 5).double()
    whole = unit.state_dict()
    torch.manual_seed(4)
    mask = unit.get_submodule("dropout")(torch.ones_like(_recurrent(unit)))
    assert 0 < mask.eq(0).double().mean() < 1
    masked.load_state_dict({**whole, "recur": whole["recur"] * mask})
    torch.manual_seed(4)
    outputs, _ = unit(inputs, unit.zero_state(inputs))
    expected, _ = masked(inputs, masked.zero_state(inputs))
    assert torch.equal(outputs, expected)
    outputs.square().sum().backward()
    expected.square().sum().backward()
    own, other = (each.get_parameter("recur").grad for each in (unit, masked))
    assert own is not None
    assert other is not None
    assert torch.equal(own, other * mask)
    masked.load_state_dict(whole)
    outputs, _ = unit.eval()(inputs, unit.zero_state(inputs))
    assert torch.equal(outputs, masked(inputs, masked.zero_state(inputs))[0])


def _recurrent(unit: Unit) -> Tensor:
    return unit.get_parameter("recur").detach()
