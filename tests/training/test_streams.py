"""S6.2: a text read chunk by chunk, against the same text read in one go."""

import pytest
import torch

from seqloom.config import ModelConfig
from seqloom.fields import EMPTY, Symbols
from seqloom.model import SequenceModel, build_sequence_model
from seqloom.prediction.text_scoring import text_log_probabilities
from seqloom.training import (
    LossOptions,
    StreamState,
    Sums,
    backward_stream,
    measure_stream,
    start_stream,
)
from seqloom.training.loss import backward
from seqloom.training.streams import (
    select_rows,
    stream_from_tensors,
    stream_tensors,
    without_source,
)
from tests.training.loss_cases import assert_equal, gradients

RECURRENT = {"kind": "recurrent", "width": 6, "layers": 2, "attention": "none", "dropout": 0.0}
DECODERS = {
    "lstm": {**RECURRENT, "first_state": "zero"},
    "gru": {**RECURRENT, "unit": "gru", "first_state": "learnt"},
    "soft": {**RECURRENT, "first_state": "zero", "feedback": "soft"},
    "transformer": {"kind": "transformer", "width": 8, "inner": 8, "heads": 2, "dropout": 0.0},
}
COST = LossOptions(0.1, 7.0)


def language_model(name: str) -> SequenceModel:
    options = {"embedding": 8, "encoder": {"kind": "none"}, "decoder": DECODERS[name]}
    tables = {**options, "share_vocabulary": False}
    torch.manual_seed(1)
    config = ModelConfig.model_validate(tables)
    return build_sequence_model(config, source=Symbols(4), target=Symbols(11)).double()


def learnt(
    model: SequenceModel, target: torch.Tensor, *, steps: int, first: StreamState | None = None
) -> tuple[Sums, StreamState]:
    return backward_stream(model, without_source(target), COST, steps=steps, first=first)


def text(lanes: int, length: int) -> torch.Tensor:
    torch.manual_seed(2)
    return torch.randint(EMPTY + 4, 11, (lanes, length))


@pytest.mark.parametrize("steps", [1, 3, 7, 20])
@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_chunks_cost_what_the_whole_costs(name: str, steps: int) -> None:
    """The state is carried: a text in one go and in chunks of any size give the same sums."""
    model, target = language_model(name), text(3, 20)
    expected = measure_stream(model.eval(), [target])
    found = measure_stream(model, target.split(steps, dim=1))
    assert found == pytest.approx(expected)
    model.train()
    sums, _ = learnt(model, target, steps=steps)
    assert sums.tokens == 60
    assert sums.negative_log_probability / 60 == pytest.approx(expected)


def test_a_chunk_as_long_as_the_text_gives_the_whole_gradient() -> None:
    model, target = language_model("lstm"), text(3, 20)
    backward(model, without_source(target), COST)
    whole = gradients(model)
    learnt(model, target, steps=20)
    assert_equal(gradients(model), whole)


def test_gradients_end_where_a_chunk_begins() -> None:
    """A second chunk adds just the gradient that it has when it is read alone, from there on."""
    model, target = language_model("lstm"), text(2, 8)
    learnt(model, target, steps=4)
    both = gradients(model)
    _, middle = learnt(model, target[:, :4], steps=4)
    assert not any(tensor.requires_grad for tensor in stream_tensors(middle))
    learnt(model, target[:, 4:], steps=4, first=middle)
    assert_equal(gradients(model), both)


def test_what_is_carried_is_a_row_for_each_lane() -> None:
    """Lanes stand for themselves: selected, put back together and told apart again."""
    model, target = language_model("lstm"), text(4, 9)
    _, carried = learnt(model, target, steps=9)
    rows = torch.tensor([2, 0])
    _, alone = learnt(model, target[rows], steps=9)
    for one, two in zip(
        stream_tensors(select_rows(carried, rows)), stream_tensors(alone), strict=True
    ):
        torch.testing.assert_close(one, two)
    again = stream_from_tensors(stream_tensors(carried), start_stream(model, 4))
    assert all(map(torch.equal, stream_tensors(again), stream_tensors(carried)))
    assert torch.equal(carried.token, target[:, -1])


@pytest.mark.parametrize("name", ["lstm", "gru", "soft"])
def test_a_long_text_token_by_token(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log-probabilities of a text in one go are those of its chunks."""
    model, target = language_model(name), text(1, 30)
    assert model.decoder.carries_state
    whole = text_log_probabilities(model, target[0], window=5)
    monkeypatch.setattr("seqloom.prediction.text_scoring.STEPS", 7)
    torch.testing.assert_close(text_log_probabilities(model, target[0], window=5), whole)
    assert -float(whole.mean()) == pytest.approx(measure_stream(model.eval(), [target]))


@pytest.mark.parametrize("length", [1, 5, 6, 8, 9, 23])
def test_a_transformer_sees_a_window(length: int) -> None:
    """Each token counts once, after at least half a window where there is as much before it."""
    model, target = language_model("transformer"), text(1, length)
    assert not model.decoder.carries_state
    found = text_log_probabilities(model, target[0], window=6)
    assert found.shape == (length,)
    for position in range(length):
        start = 0 if position < 6 else 3 * ((position - 6) // 3 + 1)
        alone = text_log_probabilities(model, target[0, start : position + 1], window=60)
        torch.testing.assert_close(found[position], alone[-1])
