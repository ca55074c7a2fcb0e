"""S6.8: ∂C/∂h_t against finite differences and closed forms; what vanishes and what stays."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqloom.errors import DataError
from seqloom.explain.plots.flow import draw_flows
from seqloom.explanations.gradients import (
    GradientFlow,
    UnitFlow,
    gradient_flow,
    mean_cross_entropy,
    spectral_radii,
)
from seqloom.explanations.instrumented_copy import UnitLocation, recurrent_units
from seqloom.fields import EMPTY, END, Symbols
from seqloom.model import Memory, SequenceModel, Source, build_sequence_model
from seqloom.nn.units import Elman, Gru, Lstm, Ssru, Unit, UnitState
from seqloom.training import Example
from tests.model.models import NAMED, model_of, recurrent, sources

WORDS = 9
# Every unit and form, fed back step by step or not, all kinds of stack, no smooth part left out.
KINDS = [
    "lstm form e",
    "gru form a",
    "gru-take form d",
    "gru-after form f",
    "elman form c",
    "elman-identity form b",
    "ssru form everything",
    "additive global previous-fed",
    "general global current",
    "lstm from copy",
    "both both",
    "normed backward",
    "residual forward",
    "backwards affine",
    "lstm reads and writes",
    "ssru reads and writes",
    "gru alone",
    "ssru sinusoids",
    "ssru learned reads",
    "transformer to form e",
    "lstm to transformer",
]


def model_and_example(kind: str) -> tuple[SequenceModel, Example]:
    """Three sentences of unlike lengths on either side."""
    torch.manual_seed(len(kind))
    model = model_of(NAMED[kind], source_size=WORDS, target_size=WORDS)
    return model, Example(sources(3, size=WORDS), sources(3, size=WORDS).values)


def plain_costs(model: SequenceModel, example: Example) -> Tensor:
    with torch.no_grad():
        memory = model.encoder.encode(example.source)
        return mean_cross_entropy(model.decoder, memory, example.target)


def alone(example: Example, row: int) -> Example:
    """One sentence without its padding."""
    source, target = example.source, example.target[row]
    length = source.lengths[row]
    tokens = source.values[row : row + 1, : int(length)]
    return Example(Source(tokens, length[None]), target[target != EMPTY][None])


def padded(example: Example, more: int) -> Example:
    """The same with so many columns of padding more."""
    source, target = (
        nn.functional.pad(tokens, (0, more), value=EMPTY)
        for tokens in (example.source.values, example.target)
    )
    return Example(Source(source, example.source.lengths), target)


def sentence(flow: GradientFlow, row: int) -> GradientFlow:
    """What a flow says of one of its sentences."""
    units = [replace(unit, gradients=unit.gradients[row : row + 1]) for unit in flow.units]
    memory = None if flow.memory is None else flow.memory[row : row + 1]
    return GradientFlow(flow.costs[row : row + 1], tuple(units), memory)


def assert_equal(one: GradientFlow, two: GradientFlow) -> None:
    np.testing.assert_allclose(one.costs, two.costs, rtol=0, atol=1e-12)
    assert [unit.location for unit in one.units] == [unit.location for unit in two.units]
    for mine, other in zip(one.units, two.units, strict=True):
        assert_rows_equal(mine.gradients, other.gradients)
    assert (one.memory is None) == (two.memory is None)
    assert_rows_equal(one.memory or (), two.memory or ())


def assert_rows_equal(one: tuple[np.ndarray, ...], two: tuple[np.ndarray, ...]) -> None:
    for mine, other in zip(one, two, strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [*NAMED][::17])
def test_a_look_changes_neither_the_numbers_nor_the_model(kind: str) -> None:
    """Units called step by step give the costs of the model itself, whose weights, modes and
    gradients stay; dropout plays no part."""
    model, example = model_and_example(kind)
    before, parts = copy.deepcopy(model.state_dict()), [*model.modules()]
    expected = plain_costs(model, example)
    flow = gradient_flow(model.train(), example)
    np.testing.assert_allclose(flow.costs, expected.numpy(), rtol=0, atol=1e-12)
    assert all(mine is other for mine, other in zip(model.modules(), parts, strict=True))
    assert all(part.training for part in parts)
    assert all(weight.grad is None for weight in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


class Pushed(Unit):
    """A unit whose state is moved after each step by what is given for that step."""

    def __init__(self, inner: Unit, pushes: Tensor) -> None:
        super().__init__()
        self.inner, self.width, self.state_names = inner, inner.width, inner.state_names
        self.pushes = iter(pushes.split(1, dim=1))

    def forward(self, inputs: Tensor, state: UnitState) -> tuple[Tensor, UnitState]:
        outputs, states = [], []
        for step in inputs.split(1, dim=1):
            _, (first, *others) = self.inner(step, state)
            after = (first + next(self.pushes), *others)
            state = tuple(part[:, -1] for part in after)
            outputs.append(after[0].relu() if isinstance(self.inner, Ssru) else after[0])
            states.append(after)
        together = tuple(torch.cat(parts, dim=1) for parts in zip(*states, strict=True))
        return torch.cat(outputs, dim=1), together


def slope(model: SequenceModel, name: str, example: Example, ways: Tensor) -> np.ndarray:
    """How fast each sentence's cost changes when all states of a unit move in these ways."""
    costs = []
    for size in (1e-6, -1e-6):
        moved = copy.deepcopy(model)
        inner = moved.get_submodule(name)
        assert isinstance(inner, Unit)
        moved.set_submodule(name, Pushed(inner, size * ways))
        costs.append(plain_costs(moved, example))
    return ((costs[0] - costs[1]) / 2e-6).numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_every_gradient_is_the_numerical_one(kind: str) -> None:
    """When every h_t of a unit is moved, each in a direction of its own, the cost changes by the
    sum of ∂C/∂h_t along them; what is done at padding changes nothing."""
    model, example = model_and_example(kind)
    source, target = example.source.mask, example.target != EMPTY
    if kind.endswith(("reads", "reads and writes")):
        target = torch.cat([source, target], dim=1)
    flow = gradient_flow(model, example)
    names = [name for name, part in model.named_modules() if isinstance(part, Unit)]
    assert names
    for name, unit in zip(names, flow.units, strict=True):
        real = source if unit.location.side == "encoder" else target
        width = unit.gradients[0].shape[1]
        ways = torch.randn(*real.shape, width, dtype=torch.float64)
        expected = [
            float((gradients * row[kept].numpy()).sum())
            for gradients, row, kept in zip(unit.gradients, ways, real, strict=True)
        ]
        found = slope(model, name, example, ways)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kind", ["both both", "additive global fed", "lstm reads and writes"])
def test_padding_and_batch_mates_change_nothing(kind: str) -> None:
    """S1.6: a sentence has the gradients that it has alone, however far it is padded."""
    model, example = model_and_example(kind)
    flow = gradient_flow(model, example)
    assert_equal(flow, gradient_flow(model, padded(example, 4)))
    for row in range(len(example.target)):
        single = gradient_flow(model, alone(example, row))
        assert_equal(single, sentence(flow, row))


@pytest.mark.parametrize("kind", ["lstm form e", "ssru sinusoids"])
def test_frozen_weights_and_earlier_use_change_nothing(kind: str) -> None:
    model, example = model_and_example(kind)
    flow = gradient_flow(model, example)
    with torch.inference_mode():
        plain_costs(model, padded(example, 600))
    assert_equal(flow, gradient_flow(model.requires_grad_(False), example))


def test_a_backward_unit_is_a_forward_one_on_the_turned_source() -> None:
    """Gradients are in the order in which a unit reads."""
    torch.manual_seed(0)
    forward, backward = (
        model_of(recurrent({"direction": way}, {}), source_size=WORDS, target_size=WORDS)
        for way in ("forward", "backward")
    )
    backward.load_state_dict(forward.state_dict())
    example = alone(Example(sources(1, size=WORDS), sources(1, size=WORDS).values), 0)
    turned = Example(Source(example.source.values.flip(1), example.source.lengths), example.target)
    one, two = gradient_flow(forward, example), gradient_flow(backward, turned)
    assert [flow.units[0].location.direction for flow in (one, two)] == ["forward", "backward"]
    assert_rows_equal(one.units[0].gradients, two.units[0].gradients)


def test_the_memory_of_a_transformer_by_position() -> None:
    """Nothing is recurrent in it; the gradient of the encoder's states is the numerical one."""
    model, example = model_and_example("plain sinusoids")
    flow = gradient_flow(model, example)
    assert flow.units == ()
    assert flow.memory is not None
    with torch.no_grad():
        memory = model.encoder.encode(example.source)
    states = memory.states
    assert states is not None

    def costs(moved: Tensor) -> Tensor:
        with torch.no_grad():
            return mean_cross_entropy(model.decoder, replace(memory, states=moved), example.target)

    for position in range(states.shape[1]):
        slopes = []
        for column in range(states.shape[2]):
            push = torch.zeros_like(states)
            push[:, position, column] = 1e-6
            slopes.append((costs(states + push) - costs(states - push)) / 2e-6)
        sizes = torch.stack(slopes).norm(dim=0)
        for row, found in enumerate(flow.memory):
            expected = found[position] if position < len(found) else 0.0
            assert float(sizes[row]) == pytest.approx(expected, rel=1e-5, abs=1e-8)


def reader(unit: dict[str, Any], *, width: int) -> tuple[SequenceModel, Any]:
    """A model that reads forward, and its encoder's unit."""
    config = recurrent({"unit": unit, "direction": "forward", "width": width}, {})
    torch.manual_seed(width)
    model = build_sequence_model(config, source=Symbols(WORDS), target=Symbols(WORDS)).double()
    read = next(part for part in model.modules() if isinstance(part, Unit))
    return model, read


def words(steps: int) -> Example:
    """Two sentences of so many tokens, to be read to the end."""
    tokens = torch.randint(END + 1, WORDS, (2, steps))
    return Example(Source(tokens, torch.tensor([steps] * 2)), torch.full((2, 1), END))


def last_state(_decoder: Any, memory: Memory, _target: Tensor) -> Tensor:
    """A cost that only the state after the last step enters directly."""
    assert memory.code is not None
    return memory.code[0][:, -1].sum(dim=1)


def mean_of_states(_decoder: Any, memory: Memory, _target: Tensor) -> Tensor:
    """A cost that every state enters alike."""
    assert memory.states is not None
    return memory.states.mean(dim=(1, 2))


def test_bptt_of_the_texts() -> None:
    """S10: h_t = .5 h_{t−1} + x_t, x = (1,0,0), C = mean of h: δ = (7/12, 1/2, 1/3)."""
    model, unit = reader({"kind": "elman", "activation": "identity"}, width=1)
    with torch.no_grad():
        unit.recur.fill_(0.5)
        unit.project.weight.zero_()
        unit.project.bias.zero_()
    flow = gradient_flow(model, words(3), cost=mean_of_states)
    for gradients in flow.units[0].gradients:
        assert gradients.flatten().tolist() == pytest.approx([7 / 12, 1 / 2, 1 / 3])


@pytest.mark.parametrize("radius", [0.8, 1.0, 1.25])
def test_the_spectral_radius_decides_in_a_linear_net(radius: float) -> None:
    """S6.8, S10: δ_t = (W_hhᵀ)^{T−t} δ_T, whose size follows the largest |eigenvalue| to the
    power of the distance: it vanishes below 1 and explodes above, for any W in the long run."""
    steps = 120
    model, unit = reader({"kind": "elman", "activation": "identity", "weights": "normal"}, width=6)
    with torch.no_grad():
        unit.recur *= radius / np.abs(np.linalg.eigvals(unit.recur.numpy())).max()
    (flow,) = gradient_flow(model, words(steps), cost=last_state).units
    assert flow.radii == {"state": pytest.approx(radius)}
    matrix, last = unit.recur.detach().numpy(), np.ones(6)
    for distance in range(steps):
        closed = np.linalg.matrix_power(matrix.T, distance) @ last
        for gradients in flow.gradients:
            np.testing.assert_allclose(gradients[-1 - distance], closed, rtol=1e-9, atol=1e-14)
    sizes = flow.by_distance()
    assert (sizes[-1] / sizes[20]) ** (1 / (steps - 21)) == pytest.approx(radius, rel=0.02)


@pytest.mark.parametrize("radius", [0.9, 1.1])
def test_a_turning_matrix_shrinks_or_grows_at_every_step(radius: float) -> None:
    """W_hh = ρ Q with Q orthogonal: ‖∂C/∂h_{T−d}‖ = ρ^d ‖∂C/∂h_T‖ exactly."""
    model, unit = reader({"kind": "elman", "activation": "identity"}, width=6)
    with torch.no_grad():
        unit.recur.copy_(radius * torch.linalg.qr(unit.recur)[0])
    (flow,) = gradient_flow(model, words(60), cost=last_state).units
    sizes = flow.by_distance()
    np.testing.assert_allclose(sizes / sizes[0], radius ** np.arange(60), rtol=1e-9)


def test_open_gates_keep_what_an_elman_net_loses() -> None:
    """S6.8: with all recurrent matrices .9 times a turn, an Elman net keeps at most .9^50 of
    the gradient over 50 steps; LSTM and GRU whose gates start open keep more than a tenth."""
    kept = {}
    for kind in ("elman", "lstm", "gru"):
        model, unit = reader({"kind": kind}, width=16)
        with torch.no_grad():
            for block in unit.recur.split(16):
                block.copy_(0.9 * torch.linalg.qr(block)[0])
            if kind != "elman":
                unit.project.bias[16:32] = 4.0  # the forget gate, and the GRU's update gate
        (flow,) = gradient_flow(model, words(61), cost=last_state).units
        assert [*flow.radii.values()] == pytest.approx([0.9] * len(flow.radii))
        sizes = flow.by_distance()
        kept[kind] = sizes[55] / sizes[5]
    assert kept["elman"] <= 0.9**50 < 0.006
    assert min(kept["lstm"], kept["gru"]) > 0.1


def test_spectral_radii_are_those_of_each_gate() -> None:
    """Against matrices whose eigenvalues are known: triangles, and ρ(cos φ ± i sin φ)."""
    torch.manual_seed(0)
    units: dict[Elman | Lstm | Gru, list[str]] = {
        Elman(3, 4): ["state"],
        Lstm(3, 4): ["input", "forget", "output", "candidate"],
        Gru(3, 4): ["reset", "update", "candidate"],
    }
    for unit, names in units.items():
        with torch.no_grad():
            for number, block in enumerate(unit.recur.split(4)):
                block.copy_(torch.randn(4, 4).triu(1))
                block.diagonal().copy_(torch.tensor([0.1, 0, -number, 0.2]))
        expected = [pytest.approx(max(0.2, number), rel=1e-5) for number in range(len(names))]
        assert spectral_radii(unit) == dict(zip(names, expected, strict=True))
    turn = Elman(1, 2).double()
    with torch.no_grad():
        turn.recur.copy_(1.5 * torch.tensor([[0.6, -0.8], [0.8, 0.6]]))
    assert spectral_radii(turn) == {"state": pytest.approx(1.5)}
    assert spectral_radii(Ssru(2, 2)) == {}


def test_sizes_by_distance_are_means_over_the_sentences_so_long() -> None:
    rows = (np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([[6.0, 8.0], [0.0, 2.0], [0.0, 3.0]]))
    flow = UnitFlow(UnitLocation("encoder", 1, "forward"), rows, {"state": 0.5})
    assert [norms.tolist() for norms in flow.norms] == [[5, 1], [10, 2, 3]]
    assert flow.by_distance().tolist() == [2, 3.5, 10]


def test_a_flow_is_plain_values_in_json() -> None:
    model, example = model_and_example("both both")
    flow = gradient_flow(model, example)
    read = json.loads(json.dumps(flow.as_dict(), allow_nan=False))
    assert read["costs"] == flow.costs.tolist()
    assert [len(norms) for norms in read["memory"]] == example.source.lengths.tolist()
    places = [(unit["side"], unit["layer"], unit["direction"]) for unit in read["units"]]
    ways = ["forward", "backward"]
    sides = [("encoder", layer, way) for layer in (1, 2) for way in ways]
    assert places == [*sides, ("decoder", 1, "forward"), ("decoder", 2, "forward")]
    for unit, found in zip(flow.units, read["units"], strict=True):
        assert found["by_distance"] == unit.by_distance().tolist()
        assert found["norms"] == [norms.tolist() for norms in unit.norms]
        assert set(found["spectral_radii"]) == {"input", "forget", "output", "candidate"}


def test_a_picture_names_its_lines_and_axes(tmp_path: Path) -> None:
    """Against a logarithmic axis, from the last step back; the same bytes each time."""
    model, example = model_and_example("both both")
    flows = gradient_flow(model, example).by_location()
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    draw_flows(flows, one)
    draw_flows(flows, two)
    assert one.read_bytes() == two.read_bytes()
    root = ElementTree.fromstring(one.read_text("utf-8"))
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert texts >= {"encoder layer 2 backward", *flows, "steps before the last", "size of ∂C/∂h"}
    assert texts >= {"0", "0.1", "1"}
    assert not any("$" in (text or "") for text in texts)


def test_a_vanished_or_single_gradient_is_still_drawn(tmp_path: Path) -> None:
    """Zeros have no logarithm and leave a gap; one step is a picture too."""
    place = UnitLocation("encoder", 1, "forward")
    for number, steps in enumerate(([0.0, 1e-40, 1.0], [0.0, 0.0], [2.0], [0.5] * 99)):
        flow = UnitFlow(place, (np.array(steps)[:, None],), {})
        draw_flows({"$a_b$ 年": flow}, tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 4_000
    with pytest.raises(DataError, match="nothing recurrent"):
        draw_flows({}, tmp_path / "none.png")


def test_the_gradient_of_a_memory_cell_flows_through_its_forget_gate() -> None:
    """S6.8: ∂C/∂c_t = ∂C/∂h_t ⊙ o_t ⊙ (1 − tanh² c_t) + f_{t+1} ⊙ ∂C/∂c_{t+1}, in every layer."""
    model, example = model_and_example("lstm form b")
    flow = gradient_flow(model, example)
    for name, unit in flow.by_location().items():
        if name.startswith("encoder") and name.endswith("forward"):
            (part,) = (u for place, u in recurrent_units(model) if place == unit.location)
            break
    with torch.no_grad():
        encoder: Any = model.encoder
        vectors = encoder.embedding(example.source.values)[0, : len(unit.cells[0])]
        state: Any = part.zero_state(vectors[None])
        steps = []
        for vector in vectors[:, None]:
            gates = part.gates(vector, state)
            _, after = part(vector[None], state)
            state = tuple(each[:, 0] for each in after)
            slope = gates["output"] * (1 - state[1].tanh() ** 2)
            steps.append((gates["forget"][0].numpy(), slope[0].numpy()))
    cells, hidden = unit.cells[0], unit.gradients[0]
    for t in range(len(cells) - 1):
        expected = hidden[t] * steps[t][1] + steps[t + 1][0] * cells[t + 1]
        np.testing.assert_allclose(cells[t], expected, atol=1e-12)
    assert all(unit.cells == () for unit in gradient_flow(*model_and_example("gru form a")).units)
