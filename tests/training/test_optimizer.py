"""Update rules (S6.5, S6.6): against the formulas, and what they remember."""

from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.errors import RunError
from seqloom.model import SequenceModel
from seqloom.nn.embedding import Embedding
from seqloom.training import Optimizer, fit
from tests.training.support import in_parts, network, training, updates, weights, whole

RULES: dict[str, dict[str, Any]] = {
    "adamw": {"kind": "adamw", "weight_decay": 0.1},
    "adam": {"kind": "adam", "betas": [0.8, 0.9]},
    "sgd": {"kind": "sgd"},
    "momentum": {"kind": "sgd", "momentum": 0.9},
    "muon": {"kind": "muon", "weight_decay": 0.1},
}
STEADY = {"rate": 0.1, "warmup": 0, "decay": "constant", "clip_norm": 0}
each_rule = pytest.mark.parametrize("rule", RULES)


def made_up(model: SequenceModel, step: int) -> dict[str, Tensor]:
    """Gradients that depend on the step alone, put in place."""
    generator = torch.Generator().manual_seed(step)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
    return {
        name: value.grad.clone()
        for name, value in model.named_parameters()
        if value.grad is not None
    }


def after(steps: int, **options: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The weights before and after so many steps along the made-up gradients."""
    model = network()
    before = weights(model)
    optimizer = Optimizer(model, training(**STEADY, **options))
    for step in range(steps):
        made_up(model, step)
        optimizer.update(step, 1.0)
    return before, weights(model)


def gradients(count: int) -> list[dict[str, Tensor]]:
    return [made_up(network(), step) for step in range(count)]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_gradient_descent_by_hand(momentum: float) -> None:
    """v = μ v + g, w = w − rate · v; plain descent is μ = 0."""
    before, found = after(3, optimizer={"kind": "sgd", "momentum": momentum})
    for name, weight in before.items():
        speed = torch.zeros_like(weight)
        for gradient in gradients(3):
            speed = momentum * speed + gradient[name]
            weight = weight - 0.1 * speed
        assert torch.allclose(found[name], weight, atol=1e-5), name


@pytest.mark.parametrize("rule", ["adam", "adamw"])
def test_adam_by_hand(rule: str) -> None:
    """w −= rate · m̂ / (√v̂ + ε); AdamW also shrinks matrices by rate × decay, and vectors not."""
    chosen = {"adam": RULES["adam"], "adamw": {**RULES["adamw"], "betas": [0.8, 0.9]}}[rule]
    before, found = after(3, optimizer=chosen)
    for name, weight in before.items():
        mean = square = torch.zeros_like(weight)
        for step, gradient in enumerate(gradients(3), 1):
            if rule == "adamw" and weight.ndim > 1:
                weight = weight * (1 - 0.1 * 0.1)
            mean = 0.8 * mean + 0.2 * gradient[name]
            square = 0.9 * square + 0.1 * gradient[name] ** 2
            corrected = (square / (1 - 0.9**step)).sqrt()
            weight = weight - 0.1 * mean / (1 - 0.8**step) / (corrected + 1e-9)
        assert torch.allclose(found[name], weight, atol=1e-4), name


def test_muon_steps_are_orthogonal_for_matrices_and_adamw_for_the_rest() -> None:
    """All singular values of a matrix's step are near one another, whatever its gradient's are."""
    decayless = {"kind": "muon", "weight_decay": 0.0}
    before, found = after(1, optimizer=decayless)
    _, other = after(1, optimizer={"kind": "adamw", "weight_decay": 0.0})
    model = network()
    tables = {id(each.table) for each in model.modules() if isinstance(each, Embedding)}
    assert tables
    seen = set()
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2 and id(parameter) not in tables:
            step = (before[name] - found[name]) / (0.1 * 0.2 * max(parameter.shape) ** 0.5)
            values = torch.linalg.svdvals(step)
            assert 0.4 < float(values.min()) <= float(values.max()) < 1.4, name
            seen.add("matrix")
        else:
            assert torch.equal(found[name], other[name]), name
            seen.add("rest")
    assert seen == {"matrix", "rest"}


@each_rule
def test_every_rule_learns(rule: str) -> None:
    """S6.6: the loss on rows seen again and again falls."""
    rate = {"sgd": 0.5, "momentum": 0.1, "muon": 0.02}.get(rule, 0.01)
    chosen = training(updates=25, rate=rate, optimizer=RULES[rule])
    made = updates(network(), chosen, lambda _: whole(0))
    assert made[-1].loss < 0.85 * made[0].loss


@each_rule
def test_what_a_rule_remembers_is_enough(rule: str) -> None:
    """Idea 4: a new model and optimiser with the saved tensors go on bit for bit."""
    config = training(optimizer=RULES[rule])
    straight = network()
    updates(straight, config)
    first = network()
    optimizer = Optimizer(first, config)
    for update in fit(optimizer, whole, seed=1):
        if update.step == 3:
            break
    second = network()
    again = Optimizer(second, config)
    second.load_state_dict(first.state_dict())
    again.restore({name: value.clone() for name, value in optimizer.tensors().items()})
    list(fit(again, whole, seed=1, start=3))
    for name, value in weights(straight).items():
        assert torch.equal(value, weights(second)[name]), name


@each_rule
def test_accumulation_is_one_large_batch(rule: str) -> None:
    """k batches of b rows make the update of one batch of k·b rows."""
    one, two = network(), network()
    config = training(updates=2, rate=1e-2, optimizer=RULES[rule])
    updates(one, config)
    updates(two, config, in_parts)
    for name, value in weights(one).items():
        assert torch.allclose(value, weights(two)[name], atol=2e-3 if rule == "muon" else 1e-4), (
            name
        )


@each_rule
def test_tensors_that_do_not_fit_are_refused(rule: str) -> None:
    """A part that is missing or of another shape; a parameter without any memory starts anew."""
    config = training(optimizer=RULES[rule])
    model = network()
    optimizer = Optimizer(model, config)
    next(fit(optimizer, whole, seed=1))
    saved = optimizer.tensors()
    assert bool(saved) == (rule != "sgd")
    for name in [name for name in saved if name.startswith("decoder.norm.weight/")]:
        with pytest.raises(RunError, match="has no .* that fits decoder.norm.weight"):
            Optimizer(network(), config).restore({**saved, name: torch.zeros(1)})
    Optimizer(network(), config).restore({})


@each_rule
def test_frozen_parameters_stay_and_cost_no_memory(rule: str) -> None:
    """S6.7: bit-identical afterwards, whatever the rule; weight decay does not touch them."""
    model = network()
    for parameter in model.encoder.parameters():
        parameter.requires_grad_(False)
    before = weights(model)
    optimizer = Optimizer(model, training(optimizer=RULES[rule], l2=1.0))
    list(fit(optimizer, whole, seed=1))
    for name, value in weights(model).items():
        assert torch.equal(value, before[name]) == name.startswith("encoder."), name
    assert not any(name.startswith("encoder.") for name in optimizer.tensors())


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


def test_clipping_by_value_cuts_each_value_and_comes_before_the_norm() -> None:
    """S6.5: each value of its own; the norm that is clipped is what is left."""
    model = network()
    plain = made_up(model, 0)
    optimizer = Optimizer(model, training(clip_value=0.5, clip_norm=1.0))
    raw = optimizer.gradient_norm()
    optimizer.update(0, raw)
    cut = {name: value.clamp(-0.5, 0.5) for name, value in plain.items()}
    norm = torch.cat([value.flatten() for value in cut.values()]).norm()
    assert norm > 1
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, cut[name] / norm, atol=1e-6), name


def test_penalties_by_hand() -> None:
    """S6.1: λ/n Σ|w| adds λ/n sign(w), λ/n Σw² adds 2λ/n w, to matrices alone."""
    model = network()
    plain = made_up(model, 0)
    Optimizer(model, training(l1=3.0, l2=5.0), rows=50).penalize()
    for name, parameter in model.named_parameters():
        weight = parameter.detach()
        added = 3 / 50 * weight.sign() + 2 * 5 / 50 * weight if weight.ndim > 1 else 0 * weight
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, plain[name] + added, atol=1e-6), name


def test_a_penalty_is_not_weight_decay() -> None:
    """Decoupled decay leaves AdamW's running means alone; a penalty goes through them."""
    decayed, penalised = (
        after(1, optimizer={"kind": "adamw", "weight_decay": decay}, l2=l2)[1]
        for decay, l2 in ((0.5, 0.0), (0.0, 0.5))
    )
    assert any(not torch.allclose(decayed[name], penalised[name]) for name in decayed)


def test_the_scale_is_that_of_the_rate() -> None:
    """What a plateau leaves of the rate is what the rate is multiplied with."""
    model = network()
    optimizer = Optimizer(model, training(**STEADY))
    optimizer.scale = 0.25
    made_up(model, 0)
    assert optimizer.update(0, 1.0) == pytest.approx(0.025)
