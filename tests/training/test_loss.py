"""S6.1: loss and gradients worked in chunks, against plain cross-entropy over all logits."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from seqloom.fields import EMPTY, START
from seqloom.model import SequenceModel
from seqloom.training.loss import (
    CHUNK,
    Example,
    LossOptions,
    Sums,
    backward,
    measure,
    row_log_probabilities,
)
from tests.model.models import NAMED, model_of
from tests.training.loss_cases import (
    SOURCE_SIZE,
    TARGET_SIZE,
    assert_equal,
    assert_sums,
    example,
    gradients,
)

NAMES = ("lstm form e", "gru form d", "dot global fed", "plain sinusoids", "ssru sinusoids")
KINDS = [NAMED[name] for name in NAMES]


class Setting(NamedTuple):
    """A model and a batch of several chunks."""

    model: SequenceModel
    example: Example


@pytest.fixture(params=KINDS, ids=NAMES)
def setting(request: pytest.FixtureRequest) -> Setting:
    torch.manual_seed(1)
    model = model_of(request.param, source_size=SOURCE_SIZE, target_size=TARGET_SIZE)
    return Setting(model, example(sentences=90, longest=30))


def logits(model: SequenceModel, batch: Example) -> Tensor:
    """All logits at once under teacher forcing, (B, T, V)."""
    inputs = functional.pad(batch.target[:, :-1], (1, 0), value=START)
    state = model.decoder.start(model.encoder.encode(batch.source))
    features, _ = model.decoder.read(inputs, state)
    return model.decoder.write(features.hidden)


def plain(model: SequenceModel, batch: Example, smoothing: float) -> Tensor:
    """The summed loss as torch has it."""
    return functional.cross_entropy(
        logits(model, batch).flatten(0, 1),
        batch.target.flatten(),
        ignore_index=EMPTY,
        label_smoothing=smoothing,
        reduction="sum",
    )


def test_loss_and_gradients_are_those_of_plain_cross_entropy(setting: Setting) -> None:
    """Over more positions than a chunk has, for every parameter, in float64."""
    model, batch = setting
    tokens = int(batch.target.ne(EMPTY).sum())
    assert tokens > CHUNK
    for smoothing in (0.0, 0.1):
        sums = backward(model, batch, LossOptions(smoothing, 7.0))
        mine = gradients(model)
        loss = plain(model, batch, smoothing)
        (loss / 7.0).backward()
        assert_sums(sums, Sums(loss.item(), plain(model, batch, 0.0).item(), tokens))
        assert_equal(mine, gradients(model))


def test_in_training_the_gradient_is_that_of_the_values_kept(setting: Setting) -> None:
    """Under one seed both ways drop the same values, so nothing is read twice or left out."""
    model, batch = setting
    model.train()
    torch.manual_seed(3)
    backward(model, batch, LossOptions(0.1, 1.0))
    mine = gradients(model)
    torch.manual_seed(3)
    plain(model, batch, 0.1).backward()
    assert_equal(mine, gradients(model))


def test_two_readings_of_a_row_are_drawn_together(setting: Setting) -> None:
    """Cross-entropy of both, and five times the mean divergence of one from the other."""
    model, batch = setting
    model.train()
    torch.manual_seed(3)
    sums = backward(model, batch, LossOptions(0.1, 7.0, agreement=5.0))
    mine = gradients(model)
    torch.manual_seed(3)
    twice = batch.twice()
    one, other = logits(model, twice).log_softmax(-1)[twice.target.ne(EMPTY)].chunk(2)
    apart = sum(
        functional.kl_div(b, a, log_target=True, reduction="sum")
        for a, b in ((one, other), (other, one))
    )
    labels = batch.target[batch.target.ne(EMPTY)].repeat(2)
    both = torch.cat([one, other])
    loss = functional.cross_entropy(both, labels, label_smoothing=0.1, reduction="sum")
    loss = (loss + 5.0 * apart / 2) / 2
    (loss / 7.0).backward()
    plain_loss = functional.nll_loss(both, labels, reduction="sum").item() / 2
    assert_sums(sums, Sums(loss.item(), plain_loss, len(labels) // 2))
    assert_equal(mine, gradients(model))


def test_two_equal_readings_agree(setting: Setting) -> None:
    """Without dropout, reading each row twice changes nothing."""
    model, batch = setting
    expected = backward(model.eval(), batch, LossOptions(0.1, 7.0))
    once = gradients(model)
    assert_sums(backward(model, batch, LossOptions(0.1, 7.0, agreement=5.0)), expected)
    assert_equal(gradients(model), once)


def test_measure_gives_the_sums_of_backward_and_no_gradient(setting: Setting) -> None:
    model, batch = setting
    measured = measure(model, batch, smoothing=0.1)
    assert all(each.grad is None for each in model.parameters())
    assert_sums(measured, backward(model, batch, LossOptions(0.1, 1.0)))


def test_rows_sum_to_the_measured_log_probability(setting: Setting) -> None:
    """S7.4: the probability of each token; padding has none to give."""
    model, (source, target, *_) = setting
    with torch.no_grad():
        state = model.decoder.start(model.encoder.encode(source))
        rows = row_log_probabilities(model.decoder, state, target)
        expected = logits(model, Example(source, target)).log_softmax(-1)
    expected = expected.gather(2, target[:, :, None]).squeeze(2).masked_fill(target == EMPTY, 0.0)
    torch.testing.assert_close(rows, expected, rtol=0, atol=1e-11)
    assert bool((rows[target == EMPTY] == 0).all())
    measured = measure(model, Example(source, target), smoothing=0.3)
    assert measured.negative_log_probability == pytest.approx(-float(rows.sum()), rel=1e-12)


def test_padding_costs_nothing(setting: Setting) -> None:
    """More `<empty>` after the longest target changes neither the sums nor a gradient."""
    model, batch = setting
    wider = Example(batch.source, functional.pad(batch.target, (0, 5), value=EMPTY))
    sums = backward(model, batch, LossOptions(0.1, 1.0))
    mine = gradients(model)
    assert_sums(backward(model, wider, LossOptions(0.1, 1.0)), sums)
    assert_equal(gradients(model), mine)


def test_gradients_add_up_over_the_parts_of_a_batch(setting: Setting) -> None:
    """Accumulation: two halves with one divisor give the whole batch's gradient (S6.6)."""
    model, (source, target, *_) = setting
    backward(model, Example(source, target), LossOptions(0.1, 100.0))
    whole = gradients(model)
    for half in (slice(0, 40), slice(40, None)):
        part = Example(type(source)(source.values[half], source.lengths[half]), target[half])
        backward(model, part, LossOptions(0.1, 100.0))
    assert_equal(gradients(model), whole)


def test_an_even_model_is_as_unsure_as_its_vocabulary_is_large() -> None:
    """All weights 0: each token costs ln V nats, smoothed or not."""
    torch.manual_seed(1)
    model = model_of(KINDS[0], source_size=SOURCE_SIZE, target_size=TARGET_SIZE)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    batch = example(sentences=3, longest=4)
    tokens = int(batch.target.ne(EMPTY).sum())
    cost = tokens * torch.tensor(TARGET_SIZE, dtype=torch.float64).log().item()
    assert_sums(measure(model, batch, smoothing=0.1), Sums(cost, cost, tokens))


def test_in_single_precision_the_loss_is_close() -> None:
    torch.manual_seed(1)
    model = model_of(KINDS[-1], source_size=SOURCE_SIZE, target_size=TARGET_SIZE)
    batch = example(sentences=40, longest=10)
    exact = measure(model, batch, smoothing=0.1)
    rounded = measure(model.float(), batch, smoothing=0.1)
    assert rounded == pytest.approx(exact, rel=1e-5)
