"""S6.2: truncated backpropagation through time, against one graph cut where chunks meet."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from seqloom.fields import EMPTY, START
from seqloom.model import SequenceModel, Source
from seqloom.model.state import tree_map
from seqloom.training import (
    Example,
    LossOptions,
    ScheduledSampling,
    StreamState,
    backward_truncated,
)
from seqloom.training.loss import backward
from tests.model.models import NAMED, model_of
from tests.training.loss_cases import assert_equal, assert_sums, example, gradients

NAMES = (
    "lstm form e",
    "gru form d",
    "elman form f",
    "previous-fed",
    "lstm from learnt",
    "gru-after reads and writes",
    "ssru alone",
    "plain sinusoids",
    "after rotary",
    "ssru sinusoids",
    "simple learned alone",
    "plain sinusoids reads",
)
COST = LossOptions(0.1, 7.0)


def built(name: str) -> SequenceModel:
    torch.manual_seed(1)
    full = {"previous-fed": "additive local-predicted previous-fed"}.get(name, name)
    return model_of(NAMED[full], source_size=9, target_size=11)


def batch() -> Example:
    """Nine rows of one to eight tokens that count differently, and one of eight."""
    torch.manual_seed(2)
    rows = example(sentences=9, longest=8)
    factors = torch.rand(rows.target.shape, dtype=torch.float64).round(decimals=1)
    return rows._replace(factors=factors)


@pytest.mark.parametrize(
    "freedom", [None, ScheduledSampling(0.5, "draw", seed=2)], ids=["labels", "draws"]
)
@pytest.mark.parametrize("name", NAMES)
def test_a_chunk_of_full_length_gives_the_whole_gradient(
    name: str, freedom: ScheduledSampling | None
) -> None:
    """Every parameter, every kind of decoder, in float64; also where it reads its own draws and
    runs on past the end."""
    model, rows = built(name), batch()._replace(sampling=freedom)
    expected = backward(model, rows, COST)
    whole = gradients(model)
    sums, _ = backward_truncated(model, rows, COST, steps=13)
    assert_sums(sums, expected)
    assert_equal(gradients(model), whole)
    sums, _ = backward_truncated(model, rows, COST, steps=3)
    assert_sums(sums, expected)


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_end_where_a_chunk_begins(name: str, steps: int) -> None:
    """One graph over all chunks, with the state cut off between them, and the source not."""
    model, rows = built(name), batch()
    sums, _ = backward_truncated(model, rows, COST, steps=steps)
    mine = gradients(model)
    state = model.decoder.start(model.encoder.encode(rows.source))
    inputs = functional.pad(rows.target[:, :-1], (1, 0), value=START)
    parts = []
    for piece in inputs.split(steps, dim=1):
        features, state = model.decoder.read(piece, state)
        parts.append(model.decoder.write(features.hidden))
        state = replace(state, own=tree_map(Tensor.detach, state.own))
    losses = functional.cross_entropy(
        torch.cat(parts, dim=1).transpose(1, 2),
        rows.target,
        ignore_index=EMPTY,
        label_smoothing=0.1,
        reduction="none",
    )
    assert rows.factors is not None
    loss = (losses * rows.factors).sum()
    (loss / COST.divisor).backward()
    assert sums.loss == pytest.approx(float(loss.detach()), rel=1e-12)
    assert_equal(mine, gradients(model))


def test_gradients_of_the_whole_are_others() -> None:
    """Else there would be nothing to cut off."""
    model = built("lstm form e")
    backward_truncated(model, batch(), COST, steps=3)
    cut = gradients(model)["decoder.stack.layers.0.units.0.recur"]
    backward(model, batch(), COST)
    assert not torch.allclose(cut, gradients(model)["decoder.stack.layers.0.units.0.recur"])


@pytest.mark.parametrize("name", ["lstm form e", "gru form d", "plain sinusoids"])
def test_the_encoder_goes_back_once(name: str) -> None:
    """However many chunks there are, which each go back through the decoder."""
    model = built(name)
    counts = {"encoder": 0, "decoder.output": 0}
    for part in counts:
        parameter = next(value for key, value in model.named_parameters() if key.startswith(part))

        def passed(_: Tensor, part: str = part) -> None:
            counts[part] += 1

        parameter.register_post_accumulate_grad_hook(passed)
    backward_truncated(model, batch(), COST, steps=2)
    assert counts == {"encoder": 1, "decoder.output": 4}


@pytest.mark.parametrize("name", ["ssru alone", "elman alone", "simple learned alone"])
def test_a_long_text_goes_on_in_the_next_piece(name: str) -> None:
    """A language model over two pieces, with the state carried and detached, is one over both
    together that is cut there."""
    model = built(name)
    rows = Example(batch().source, torch.randint(4, 11, (9, 12)))
    expected, _ = backward_truncated(model, rows, COST, steps=6)
    whole = gradients(model)
    carried: StreamState | None = None
    total = 0.0
    for piece in rows.target.split(6, dim=1):
        part = Example(rows.source, piece)
        sums, carried = backward_truncated(model, part, COST, steps=100, first=carried)
        total += sums.loss
    assert total == pytest.approx(expected.loss, rel=1e-12)
    assert_equal(gradients(model), whole)
    assert carried is not None
    assert torch.equal(carried.token, rows.target[:, -1])
    tree_map(holds_no_history, (carried.state.own, carried.state.shared))


def holds_no_history(tensor: Tensor) -> Tensor:
    assert not tensor.requires_grad
    return tensor


class Held:
    """Counts the bytes that graphs hold for their way back, and the most there ever were."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def pack(self, tensor: Tensor) -> Any:
        return _Kept(tensor, self)

    @staticmethod
    def unpack(kept: "_Kept") -> Tensor:
        return kept.tensor


class _Kept:
    def __init__(self, tensor: Tensor, held: Held) -> None:
        self.tensor, self.held = tensor, held
        held.now += tensor.nbytes
        held.most = max(held.most, held.now)

    def __del__(self) -> None:
        self.held.now -= self.tensor.nbytes


@pytest.mark.parametrize("name", ["lstm form e", "elman alone"])
def test_memory_is_bounded_by_the_chunk(name: str) -> None:
    """Ten times as many steps hold hardly more at a time."""
    model = built(name)

    def most(length: int, steps: int) -> int:
        rows = Example(
            Source(torch.full((4, 3), 5), torch.full((4,), 3)), torch.full((4, length), 6)
        )
        held = Held()
        with torch.autograd.graph.saved_tensors_hooks(held.pack, held.unpack):
            backward_truncated(model, rows, COST, steps=steps)
        return held.most

    assert most(200, 20) < 1.1 * most(20, 20)
    assert most(200, 200) > 5 * most(20, 20)
