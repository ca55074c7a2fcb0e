"""The loop (S6.6): what an update is, apart from any run and any update rule."""

import math

import pytest
import torch

from seqloom.config import ModelConfig
from seqloom.errors import DivergedError
from seqloom.fields import Symbols
from seqloom.model import build_sequence_model
from seqloom.training import Optimizer, Update, fit
from tests.training.support import STACK, in_parts, network, training, updates, weights, whole


def test_updates_are_counted_and_learn() -> None:
    """S6.6: as many as configured, and the loss on rows seen again and again falls."""
    made = updates(network(), training(updates=40, rate=1e-2), lambda _: whole(0))
    assert [update.step for update in made] == list(range(1, 41))
    assert made[-1].loss < 0.6 * made[0].loss
    assert all(update.tokens == 24 and not update.skipped for update in made)


def test_accumulated_batches_make_the_update_of_one() -> None:
    """Gradients are sums over tokens divided by all tokens, however the rows are cut."""
    one, two = network(), network()
    together, apart = updates(one, training()), updates(two, training(), in_parts)
    for first, second in zip(together, apart, strict=True):
        assert second.loss == pytest.approx(first.loss, rel=1e-5)
        assert second.gradient_norm == pytest.approx(first.gradient_norm, rel=1e-4)
    for name, value in weights(one).items():
        assert torch.allclose(value, weights(two)[name], atol=1e-4), name


def test_a_part_that_is_not_finite_is_named() -> None:
    """A8: the sentence names the update, the part and the rows, and no weight is changed."""
    model = network()
    victim = dict(model.named_parameters())["decoder.norm.weight"]
    victim.register_hook(lambda gradient: gradient * math.nan)
    before = weights(model)
    with pytest.raises(DivergedError) as caught:
        updates(model, training())
    sentence = str(caught.value)
    assert sentence.startswith("update 1: the gradient of decoder.norm.weight is not finite")
    assert "pairs.tsv, line 1" in sentence
    assert all(torch.equal(value, before[name]) for name, value in weights(model).items())


def test_so_many_may_be_left_out() -> None:
    """`skip_nonfinite` of them are skipped, in order; the next one ends training."""
    model = network()
    handle = next(model.parameters()).register_hook(lambda gradient: gradient * math.nan)
    made: list[Update] = []
    with pytest.raises(DivergedError, match="update 3: "):
        made.extend(fit(Optimizer(model, training(skip_nonfinite=2)), whole, seed=1))
    loop = fit(Optimizer(model, training(skip_nonfinite=2)), whole, seed=1)
    assert [next(loop).skipped for _ in range(2)] == [True, True]
    handle.remove()
    assert not next(loop).skipped


def test_randomness_is_a_function_of_seed_and_step() -> None:
    """Idea 4: whatever was drawn before, an update's dropout is the same."""
    stack = {**STACK, "dropout": 0.5}
    config = {"embedding": 8, "share_vocabulary": False, "encoder": stack, "decoder": stack}

    def losses(noise: int, seed: int) -> list[float]:
        torch.manual_seed(3)
        model = build_sequence_model(
            ModelConfig.model_validate(config), source=Symbols(9), target=Symbols(9)
        )
        torch.rand(noise)
        return [u.loss for u in fit(Optimizer(model, training()), whole, seed=seed)]

    assert losses(0, 1) == losses(17, 1) != losses(0, 2)
