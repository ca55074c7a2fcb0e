"""The loop and its optimiser (SPEC S6.5, S6.6): what an update is, apart from any run."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.config import ModelConfig, TrainingConfig
from seqloom.errors import DivergedError, RunError
from seqloom.fields import END
from seqloom.model import SequenceModel, Source, build
from seqloom.training import Example, Optimizer, Portion, Update, fit, learning_rate

STACK = {"kind": "transformer", "width": 8, "inner": 16, "heads": 2, "layers": 1, "dropout": 0.0}


def training(**options: Any) -> TrainingConfig:
    return TrainingConfig.model_validate({"updates": 6, "warmup": 2, **options})


def network() -> SequenceModel:
    """A small model whose first weights are always the same."""
    torch.manual_seed(3)
    config = {"embedding": 8, "share_vocabulary": False, "encoder": STACK, "decoder": STACK}
    return build(ModelConfig.model_validate(config), source_size=9, target_size=9)


def example(step: int) -> Example:
    """Six rows of four tokens and their reversal."""
    generator = torch.Generator().manual_seed(step)
    words = torch.randint(END + 1, 9, (6, 3), generator=generator)
    end = torch.full((6, 1), END)
    source = Source(torch.cat([words, end], dim=1), torch.full((6,), 4))
    return Example(source, torch.cat([words.flip(1), end], dim=1))


def whole(step: int) -> Portion:
    return Portion([example(step)], 24, lambda: "pairs.tsv, line 1")


def in_parts(step: int) -> Portion:
    """The same rows as two batches whose gradients are added up."""
    source, target = example(step)
    parts = [slice(0, 2), slice(2, 6)]
    examples = [Example(Source(source.tokens[p], source.lengths[p]), target[p]) for p in parts]
    return Portion(examples, 24, lambda: "pairs.tsv, line 1")


def updates(
    model: SequenceModel, config: TrainingConfig, portion: Callable[[int], Portion] = whole
) -> list[Update]:
    return list(fit(Optimizer(model, config), portion, seed=1))


def weights(model: SequenceModel) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


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


def test_what_the_optimiser_remembers_is_enough() -> None:
    """Idea 4: a new model and optimiser with the saved tensors go on bit for bit."""
    straight = network()
    updates(straight, training())
    first = network()
    optimizer = Optimizer(first, training())
    for update in fit(optimizer, whole, seed=1):
        if update.step == 3:
            break
    second = network()
    again = Optimizer(second, training())
    second.load_state_dict(first.state_dict())
    again.restore(optimizer.tensors())
    list(fit(again, whole, seed=1, start=3))
    for name, value in weights(straight).items():
        assert torch.equal(value, weights(second)[name]), name


def test_tensors_that_do_not_fit_are_refused() -> None:
    model = network()
    optimizer = Optimizer(model, training())
    next(fit(optimizer, whole, seed=1))
    saved = optimizer.tensors()
    name = next(name for name in saved if name.endswith("exp_avg"))
    without = {key: value for key, value in saved.items() if key != name}
    for tensors in (without, {**saved, name: torch.zeros(1)}):
        with pytest.raises(RunError):
            Optimizer(network(), training()).restore(tensors)


def test_clipping_scales_the_gradient_to_the_norm() -> None:
    """S6.5: the reported norm is the one before; a longer gradient keeps its direction."""
    model = network()
    made = next(fit(Optimizer(model, training(clip_norm=1e-3)), whole, seed=1))
    clipped = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    free = network()
    other = next(fit(Optimizer(free, training(clip_norm=0)), whole, seed=1))
    plain = torch.cat([p.grad.flatten() for p in free.parameters() if p.grad is not None])
    assert made.gradient_norm == pytest.approx(other.gradient_norm)
    assert other.gradient_norm == pytest.approx(float(plain.norm()), rel=1e-5)
    assert float(clipped.norm()) == pytest.approx(1e-3, rel=1e-4)
    assert torch.allclose(clipped / clipped.norm(), plain / plain.norm(), atol=1e-5)


def test_weight_decay_pulls_at_matrices_only() -> None:
    """With a gradient of zero, matrices shrink by rate × decay and vectors stay."""
    model = network()
    optimizer = Optimizer(model, training(weight_decay=0.5, rate=0.1, warmup=0, decay="constant"))
    before = weights(model)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.update(0, 0.0)
    for name, value in weights(model).items():
        shrunk = before[name] * (1 - 0.1 * 0.5) if value.ndim > 1 else before[name]
        assert torch.allclose(value, shrunk), name


@pytest.mark.parametrize("decay", ["cosine", "inverse-sqrt", "constant"])
def test_learning_rate(decay: str) -> None:
    """It rises in a line to its highest, never rises again, and ends where it should."""
    config = training(updates=100, warmup=10, rate=0.5, decay=decay, final_rate=0.1)
    rates = [learning_rate(config, step) for step in range(100)]
    assert rates[:10] == pytest.approx([0.05 * (step + 1) for step in range(10)])
    assert max(rates) == pytest.approx(0.5)
    assert all(one >= two - 1e-12 for one, two in pairwise(rates[9:]))
    last = {"cosine": 0.05, "inverse-sqrt": 0.5 * math.sqrt(0.1), "constant": 0.5}[decay]
    assert rates[-1] == pytest.approx(last, rel=0.05)


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
        model = build(ModelConfig.model_validate(config), source_size=9, target_size=9)
        torch.rand(noise)
        return [u.loss for u in fit(Optimizer(model, training()), whole, seed=seed)]

    assert losses(0, 1) == losses(17, 1) != losses(0, 2)
