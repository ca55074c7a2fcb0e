"""How steps, rows and weights add up to one loss (S6.1, S6.4), in float64."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.fields import EMPTY, END
from seqloom.model import SequenceModel, Source
from seqloom.training import Example, PositionWeights
from seqloom.training.loss import LossKind, LossOptions, backward
from tests.training.support import network

LENGTHS = np.array([2, 5, 3, 1, 4], np.int32)
EVERY = np.arange(len(LENGTHS))
EVEN = np.ones(len(LENGTHS))
LOSSES: tuple[LossKind, ...] = ("tokens", "mean", "sum")
each_loss = pytest.mark.parametrize("loss", LOSSES)
Gradient = dict[str, Tensor]


def rows(indices: Sequence[int] | np.ndarray, factors: Tensor | None = None) -> Example:
    """Rows of the lengths above, each always the same."""
    targets = torch.full((len(indices), int(LENGTHS[indices].max())), EMPTY)
    sources = torch.full((len(indices), 3), END)
    for place, index in enumerate(indices):
        generator = torch.Generator().manual_seed(int(index))
        length = int(LENGTHS[index])
        targets[place, : length - 1] = torch.randint(END + 1, 9, (length - 1,), generator=generator)
        targets[place, length - 1] = END
        sources[place, :2] = torch.randint(END + 1, 9, (2,), generator=generator)
    return Example(Source(sources, torch.full((len(indices),), 3)), targets, factors)


def gradient(model: SequenceModel, example: Example, divisor: float) -> tuple[float, Gradient]:
    """The loss and its gradient."""
    model.zero_grad()
    total = backward(model, example, LossOptions(0.1, divisor)).loss / divisor
    return total, {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def weighed(
    weighing: PositionWeights, batches: list[np.ndarray], model: SequenceModel
) -> tuple[float, Gradient]:
    """What an update on these batches would have."""
    tokens = float(sum(LENGTHS[batch].sum() for batch in batches))
    parts = [
        gradient(model, rows(batch, factors), tokens)
        for batch, factors in zip(batches, weighing.factors(0, batches), strict=True)
    ]
    total = {name: sum(part[name] for _, part in parts) for name in parts[0][1]}
    return sum(loss for loss, _ in parts), total  # type: ignore[return-value]


def by_hand(loss: LossKind, indices: Sequence[int], model: SequenceModel) -> tuple[float, Gradient]:
    """Row by row: the sum over its steps, divided as the loss says, and the mean over rows."""
    single = [gradient(model, rows([index]), 1.0) for index in indices]
    lengths = LENGTHS[list(indices)]
    shares = {
        "tokens": np.full(len(indices), 1 / lengths.sum()),
        "mean": 1 / lengths / len(indices),
        "sum": np.full(len(indices), 1 / len(indices)),
    }[loss]
    names = single[0][1]
    return (
        sum(share * value for share, (value, _) in zip(shares, single, strict=True)),
        {n: sum(s * g[n] for s, (_, g) in zip(shares, single, strict=True)) for n in names},
    )


def assert_same(found: tuple[float, Gradient], expected: tuple[float, Gradient]) -> None:
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    torch.testing.assert_close(found[1], expected[1], rtol=1e-9, atol=1e-12)


@pytest.fixture
def model() -> SequenceModel:
    return network().double()


@each_loss
def test_sums_and_means_over_steps(loss: LossKind, model: SequenceModel) -> None:
    """S6.1: over all tokens; or of each row's steps the mean or the sum, and the mean over rows."""
    weighing = PositionWeights(LENGTHS, EVEN, loss=loss)
    assert_same(weighed(weighing, [EVERY], model), by_hand(loss, EVERY.tolist(), model))


@each_loss
def test_accumulated_batches_are_one(loss: LossKind, model: SequenceModel) -> None:
    """k batches of b rows are one batch of k·b rows, with weights or without."""
    for weights in (EVEN, np.array([0.5, 2.0, 1.0, 0.0, 3.0])):
        weighing = PositionWeights(LENGTHS, weights, loss=loss)
        apart = weighed(weighing, [EVERY[:2], EVERY[2:]], model)
        assert_same(apart, weighed(weighing, [EVERY], model))


@each_loss
def test_a_weight_of_two_is_the_row_twice_and_of_none_no_row(
    loss: LossKind, model: SequenceModel
) -> None:
    """Where all rows are in the batch; and the scale of all weights is of no account."""
    weights = np.array([1.0, 2.0, 0.0, 3.0, 1.0])
    repeated = [index for index in EVERY.tolist() for _ in range(int(weights[index]))]
    expected = by_hand(loss, repeated, model)
    for scale in (1.0, 0.25, 1e6):
        assert_same(
            weighed(PositionWeights(LENGTHS, scale * weights, loss=loss), [EVERY], model), expected
        )


@each_loss
def test_a_light_row_alone_makes_a_light_update(loss: LossKind, model: SequenceModel) -> None:
    """Weights are relative to all rows, not to batch mates: one row at a time feels them too."""
    weights = np.array([0.5, 1.0, 1.0, 1.0, 1.0])
    light = weighed(PositionWeights(LENGTHS, weights, loss=loss), [EVERY[:1]], model)
    plain = weighed(PositionWeights(LENGTHS, EVEN, loss=loss), [EVERY[:1]], model)
    mean = np.average(weights, weights=LENGTHS if loss == "tokens" else None)
    expected = {name: value * 0.5 / mean for name, value in plain[1].items()}
    assert_same(light, (plain[0] * 0.5 / mean, expected))


def test_rows_without_weight_give_no_gradient(model: SequenceModel) -> None:
    """A whole batch of them is an update of nothing, not an error."""
    weighing = PositionWeights(LENGTHS, np.array([0.0, 0.0, 1.0, 1.0, 1.0]))
    loss, found = weighed(weighing, [EVERY[:2]], model)
    assert loss == 0
    assert all(not value.any() for value in found.values())


@each_loss
def test_weights_are_divided_by_their_mean_over_a_pass(loss: LossKind) -> None:
    """Rows that a pass has several times count as often; those that it has not do not."""
    weights, often = np.array([1.0, 9.0, 0.5, 2.0, 3.0]), np.array([2, 0, 1, 3, 1])
    mixed = PositionWeights(LENGTHS, weights, loss=loss, frequencies=often.astype(float))
    drawn = np.repeat(EVERY, often)
    repeated = PositionWeights(LENGTHS[drawn], weights[drawn], loss=loss)
    (found,), (expected,) = (
        mixed.factors(0, [drawn]),
        repeated.factors(0, [np.arange(len(drawn))]),
    )
    assert found is not None
    assert expected is not None
    torch.testing.assert_close(found, expected)


def test_equal_weights_of_the_rows_of_a_pass_cost_nothing() -> None:
    weights, often = np.array([5.0, 1.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0, 1.0, 1.0])
    weighing = PositionWeights(LENGTHS, weights, frequencies=often)
    assert weighing.factors(0, [EVERY[1:]]) == [None]


def test_equal_weights_cost_nothing() -> None:
    assert PositionWeights(LENGTHS, 7 * EVEN).factors(0, [EVERY]) == [None]


@each_loss
def test_one_position_is_unbiased(loss: LossKind, model: SequenceModel) -> None:
    """S6.4: the mean gradient over all choices of a position in each row is the full gradient."""
    chosen = EVERY[[0, 2]]
    weighing = PositionWeights(LENGTHS, np.array([1.0, 2.0, 0.5, 1.0, 1.0]), loss=loss)
    (full,) = weighing.factors(0, [chosen])
    expected = weighed(weighing, [chosen], model)
    assert full is not None
    choices = list(product(*(range(length) for length in LENGTHS[chosen])))
    total = {name: torch.zeros_like(value) for name, value in expected[1].items()}
    mean = 0.0
    for choice in choices:
        factors = torch.zeros_like(full)
        for row, place in enumerate(choice):
            factors[row, place] = full[row, place] * int(LENGTHS[chosen][row])
        value, found = gradient(model, rows(chosen, factors), float(LENGTHS[chosen].sum()))
        mean += value / len(choices)
        total = {name: each + found[name] / len(choices) for name, each in total.items()}
    assert_same((mean, total), expected)


@each_loss
def test_one_position_is_drawn_evenly_and_anew(loss: LossKind) -> None:
    """One real position a row, of its length times the weight; each as often as another."""
    weights = np.array([1.0, 2.0, 0.5, 1.0, 1.0])
    drawing = PositionWeights(LENGTHS, weights, loss=loss, one_position=True, seed=5)
    (full,) = PositionWeights(LENGTHS, weights, loss=loss).factors(0, [EVERY])
    assert full is not None
    counts = torch.zeros_like(full)
    steps = 300
    for step in range(steps):
        (drawn,) = drawing.factors(step, [EVERY])
        assert drawn is not None
        counts += drawn.ne(0)
        where = drawn.ne(0).nonzero()
        assert where[:, 0].tolist() == EVERY.tolist()
        assert (where[:, 1] < torch.from_numpy(LENGTHS)).all()
        expected = full[tuple(where.T)] * torch.from_numpy(LENGTHS)
        torch.testing.assert_close(drawn[tuple(where.T)], expected)
    for row, length in enumerate(LENGTHS):
        even = steps / length
        assert (counts[row, :length] - even).abs().max() < 5 * even**0.5
    again = PositionWeights(LENGTHS, weights, loss=loss, one_position=True, seed=5)
    assert torch.equal(again.factors(7, [EVERY])[0], drawing.factors(7, [EVERY])[0])  # type: ignore[arg-type]
    other = PositionWeights(LENGTHS, weights, loss=loss, one_position=True, seed=6)
    assert any(
        not torch.equal(other.factors(n, [EVERY])[0], drawing.factors(n, [EVERY])[0])  # type: ignore[arg-type]
        for n in range(5)
    )
