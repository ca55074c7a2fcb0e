"""S6.2: truncated backpropagation of encoders with heads, by hand and against chunks read apart."""

from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.config import ModelConfig
from seqloom.fields import EMPTY, END, Symbols
from seqloom.model import HeadModel, Source, build
from seqloom.nn.truncation import truncate_gradients
from seqloom.training.loss import Example, LossOptions, backward
from tests.nn.parts import stirred
from tests.training.loss_cases import assert_equal, gradients

STEPS = 7


def network(head: dict[str, Any], **encoder: Any) -> HeadModel:
    torch.manual_seed(4)
    tables = {
        "embedding": 4,
        "encoder": {"kind": "recurrent", "width": 3, "layers": 1, "dropout": 0.0, **encoder},
        "decoder": head,
    }
    made = build(ModelConfig.model_validate(tables), source=Symbols(9), target=Symbols(6))
    assert isinstance(made, HeadModel)
    return stirred(made).eval()


def example(kind: str) -> Example:
    torch.manual_seed(5)
    lengths = torch.tensor([STEPS, 4, 6])
    values = torch.randint(END + 1, 9, (3, STEPS))
    if kind == "label":
        return Example(Source(values, lengths), torch.tensor([[2], [5], [1]]))
    target = torch.randint(1, 6, (3, STEPS))
    return Example(
        Source(values, lengths),
        target.masked_fill(torch.arange(STEPS) >= lengths[:, None], EMPTY),
    )


def truncated(model: HeadModel, given: Example, steps: int) -> dict[str, Tensor]:
    with truncate_gradients(steps):
        backward(model, given, LossOptions(0.0, 5.0))
    return gradients(model)  # type: ignore[arg-type]


ENCODERS: dict[str, dict[str, Any]] = {
    "forward lstm": {"direction": "forward"},
    "both gru, two layers": {"unit": {"kind": "gru"}, "layers": 2},
    "backward elman": {"unit": {"kind": "elman"}, "direction": "backward"},
    "ssru from a learnt state": {"unit": {"kind": "ssru"}, "first_state": "learnt"},
}
HEADS: dict[str, dict[str, Any]] = {
    "tags": {"kind": "tags"},
    "label": {"kind": "label", "pool": "code", "readout": "perceptron"},
}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_chunk_of_full_length_changes_nothing(encoder: str, head: str) -> None:
    """k ≥ T is no truncation, and one step less is one."""
    model, given = network(HEADS[head], **ENCODERS[encoder]), example(head)
    whole = truncated(model, given, 0)
    for steps in (STEPS, STEPS + 1, 100):
        assert_equal(truncated(model, given, steps), whole)
    shorter = truncated(model, given, 2)
    assert any(not torch.allclose(shorter[name], whole[name]) for name in whole)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_the_gradient_is_that_of_the_recursion_by_hand(steps: int) -> None:
    """δ_t = ∂C_t/∂h_t + W_hhᵀ diag(1 − h²_{t+1}) δ_{t+1} inside a chunk and without the second term
    at its end; g_W = Σ_t diag(1 − h²_t) δ_t h_{t−1}ᵀ, over all chunks."""
    tags, given = {"kind": "tags"}, example("tags")
    model = network(tags, unit={"kind": "elman"}, direction="forward")
    found = truncated(model, given, steps)
    parts: Any = model
    unit = parts.encoder.stack.layers[0].units[0]
    weights, inputs = unit.recur.detach(), unit.project.weight.detach()
    output, bias = parts.head.output.weight.detach(), parts.head.output.bias.detach()
    wanted = {name: torch.zeros_like(value) for name, value in found.items()}
    table = parts.encoder.embedding
    for row in range(3):
        length = int(given.source.lengths[row])
        vectors = table(given.source.values[row : row + 1]).detach()[0]
        states = [torch.zeros(3, dtype=torch.float64)]
        for t in range(length):
            states.append(
                (weights @ states[-1] + inputs @ vectors[t] + unit.project.bias.detach()).tanh()
            )
        delta = torch.zeros(3, dtype=torch.float64)
        for t in reversed(range(length)):
            chances = (output @ states[t + 1] + bias).softmax(0)
            chances[given.target[row, t] - 1] -= 1
            error = chances / 5
            if (t + 1) % steps == 0:
                delta = torch.zeros_like(delta)
            slope = 1 - states[t + 1] ** 2
            before = slope * (output.T @ error + delta)
            delta = weights.T @ before
            wanted["head.output.weight"] += torch.outer(error, states[t + 1])
            wanted["head.output.bias"] += error
            name = "encoder.stack.layers.0.units.0"
            wanted[f"{name}.recur"] += torch.outer(before, states[t])
            wanted[f"{name}.project.weight"] += torch.outer(before, vectors[t])
            wanted[f"{name}.project.bias"] += before
    for name, gradient in wanted.items():
        if "embedding" not in name:
            torch.testing.assert_close(found[name], gradient, msg=name)


@pytest.mark.parametrize("steps", [2, 3])
def test_stacked_layers_are_cut_at_the_same_steps(steps: int) -> None:
    """Chunks read one by one from the detached state of every layer give the same gradient."""
    model = network({"kind": "tags"}, unit={"kind": "gru"}, layers=2, direction="forward")
    given = example("tags")
    found = truncated(model, given, steps)
    state: Any = None
    encoder: Any = model.encoder
    head: Any = model.head
    for begin in range(0, STEPS, steps):
        part = slice(begin, begin + steps)
        hidden, state = encoder.stack(encoder.embedding(given.source.values[:, part]), state)
        state = tuple(each.detach() for each in state)
        labels = given.target[:, part]
        real = labels != EMPTY
        scores = head.output(hidden[real])
        (head.losses(scores, labels[real], smoothing=0.0).sum() / 5).backward()
    assert_equal(found, gradients(model))  # type: ignore[arg-type]
