"""A moving average of weights: by hand, over sittings, and for weights that stay (S6.6)."""

import pytest
import torch

from seqloom.errors import RunError
from seqloom.training import MovingAverage, Optimizer, fit
from tests.training.support import network, training, weights, whole

DECAY = 0.5


def test_by_hand() -> None:
    """mean = d · mean + (1 − d) · w, where d grows from step / (step + 10) to the configured."""
    model = network()
    expected = weights(model)
    average = MovingAverage(model, DECAY)
    for update in fit(Optimizer(model, training(updates=14)), whole, seed=1):
        average.update(update.step)
        decay = min(DECAY, update.step / (update.step + 10))
        expected = {n: decay * expected[n] + (1 - decay) * w for n, w in weights(model).items()}
    for name, mean in average.tensors().items():
        assert torch.allclose(mean, expected[name], atol=1e-6), name


def test_what_it_remembers_is_enough_and_weights_that_stay_stay() -> None:
    model = network()
    average = MovingAverage(model, DECAY)
    still = weights(model)
    average.update(1)
    assert all(torch.equal(mean, still[name]) for name, mean in average.tensors().items())
    for parameter in model.parameters():
        parameter.data.add_(1.0)
    average.update(2)
    again = MovingAverage(model, DECAY)
    again.restore(average.tensors())
    for each in (average, again):
        each.update(3)
    for name, mean in again.tensors().items():
        assert torch.equal(mean, average.tensors()[name]), name


def test_tensors_that_do_not_fit_are_refused() -> None:
    average = MovingAverage(network(), DECAY)
    saved = dict(average.tensors())
    name = next(iter(saved))
    for wrong in ({}, {**saved, name: torch.zeros(1)}):
        with pytest.raises(RunError, match="the saved average has nothing that fits"):
            average.restore(wrong)
