"""bfloat16 where there is a unit for it (S6.6): near the full gradient, else refused."""

import math

import pytest
import torch

from seqloom.errors import ConfigError
from seqloom.model import SequenceModel
from seqloom.training import Optimizer, check_precision, fit, measure
from seqloom.training.loss import LossOptions, backward
from seqloom.training.precision import BFLOAT16_FEATURES, Precision, precision_of
from tests.model.models import NAMED, model_of
from tests.training.support import STACK, example, network, training, updates, weights, whole

RECURRENT = ("lstm form e", "gru form d", "gru-after form d", "elman form b", "ssru sinusoids")
NAMES = (*RECURRENT, "dot global fed", "plain sinusoids")


def gradient(model: SequenceModel, precision: Precision) -> torch.Tensor:
    model.zero_grad()
    backward(model, example(0), LossOptions(0.1, 24.0, precision=precision))
    found = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    assert all(part.dtype == torch.float32 for part in found)
    return torch.cat(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_nearly_the_same(name: str) -> None:
    """Products in 8 bits of mantissa, sums and weights in 24."""
    torch.manual_seed(1)
    model = model_of(NAMED[name], source_size=9, target_size=9).float()
    full, half = gradient(model, "float32"), gradient(model, "bfloat16")
    assert not torch.equal(full, half)
    assert float((full - half).norm() / full.norm()) < 0.05


WIDE = {**STACK, "width": 32, "inner": 64}
UNIT = {"kind": "recurrent", "unit": {"kind": "lstm"}, "width": 32, "layers": 1, "dropout": 0.0}
FED = {**UNIT, "attention": {"kind": "global", "score": "general", "feed": True}}
KINDS = {"transformer": (WIDE, WIDE), "lstm": (UNIT, FED)}


def held_out_loss(kind: str, precision: Precision, seed: int) -> float:
    """After some updates that learn to write four tokens backwards, in nats a token."""
    encoder, decoder = KINDS[kind]
    model = network(embedding=32, encoder=encoder, decoder=decoder)
    config = training(updates=80, warmup=10, rate=1e-2, precision=precision)
    updates(model, config, lambda step: whole(1_000 * seed + step))
    found = [measure(model.eval(), example(-1 - n), smoothing=0.0) for n in range(5)]
    return sum(each.negative_log_probability for each in found) / sum(e.tokens for e in found)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_learnt_is_the_same_within_noise(kind: str) -> None:
    """The mean held-out loss differs by less than other training data would make it differ."""
    full, half = (
        [held_out_loss(kind, precision, seed) for seed in range(2)]
        for precision in ("float32", "bfloat16")
    )
    assert full != half
    assert max(full) < 0.7 * math.log(5)  # well below what guessing costs
    assert abs(sum(full) - sum(half)) / 2 < max(full) - min(full)


@pytest.mark.parametrize("kind", KINDS)
def test_stopping_and_going_on_changes_no_bit(kind: str) -> None:
    encoder, decoder = ({**side, "dropout": 0.1} for side in KINDS[kind])
    config = training(precision="bfloat16")
    at_once, in_two = (network(embedding=32, encoder=encoder, decoder=decoder) for _ in range(2))
    updates(at_once, config)
    first = Optimizer(in_two, config)
    for update in fit(first, whole, seed=1):
        if update.step == 3:
            break
    saved = {name: value.clone() for name, value in first.tensors().items()}
    second = Optimizer(in_two, config)
    second.restore(saved)
    list(fit(second, whole, seed=1, start=3))
    for name, value in weights(at_once).items():
        assert torch.equal(value, weights(in_two)[name]), name


def test_it_is_refused_where_there_is_no_unit() -> None:
    able = torch.cpu.get_capabilities()
    check_precision(training())
    check_precision(training(precision="auto"))
    if any(able.get(unit) for unit in BFLOAT16_FEATURES):
        check_precision(training(precision="bfloat16"))
    else:
        with pytest.raises(ConfigError, match="this processor has no unit for it .*; set it to"):
            check_precision(training(precision="bfloat16"))


def test_auto_takes_what_the_processor_has() -> None:
    able = torch.cpu.get_capabilities()
    here = "bfloat16" if any(able.get(unit) for unit in BFLOAT16_FEATURES) else "float32"
    assert precision_of(training(precision="auto")) == here
    assert precision_of(training()) == "float32"
    assert precision_of(training(precision="bfloat16")) == "bfloat16"
