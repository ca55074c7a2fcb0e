"""Dropout: the share, the mean, the gradient, and nothing in evaluation (S2.6)."""

import math

import pytest
import torch

from seqloom.nn.modules import Dropout

COUNT = 200_003  # no multiple of the values decided at once
each_share = pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])


def dropout(share: float) -> Dropout:
    return Dropout(share)


@each_share
def test_the_share_is_dropped_and_the_rest_makes_up_for_it(share: float) -> None:
    """A byte decides, so the share is one of 256; five standard deviations allow for chance."""
    torch.manual_seed(1)
    rounded = round(256 * share) / 256
    kept = dropout(share)(torch.ones(COUNT, dtype=torch.float64))
    assert abs(rounded - share) <= 1 / 512
    assert set(kept.unique().tolist()) == {0.0, 1 / (1 - rounded)}
    spread = 5 * math.sqrt(rounded * (1 - rounded) / COUNT)
    assert abs(float((kept == 0).double().mean()) - rounded) < spread
    assert abs(float(kept.mean()) - 1) < spread / (1 - rounded)


@each_share
def test_the_gradient_is_the_mask(share: float) -> None:
    values = torch.randn(7, 33, requires_grad=True)
    dropped = dropout(share)(values)
    (gradient,) = torch.autograd.grad(dropped.sum(), values)
    assert torch.equal(values.detach() * gradient, dropped.detach())


@each_share
def test_in_evaluation_nothing_happens(share: float) -> None:
    values = torch.randn(7, 33)
    assert torch.equal(dropout(share).eval()(values), values)


def test_a_share_of_nothing_is_the_identity() -> None:
    values = torch.randn(7, 33)
    assert torch.equal(dropout(0.0).train()(values), values)


@pytest.mark.parametrize("share", [0.998, 0.999, 0.9999])
def test_nearly_everything_may_be_dropped(share: float) -> None:
    """Every share below 1 is allowed, and none of them makes infinities."""
    torch.manual_seed(1)
    kept = dropout(share)(torch.ones(COUNT))
    assert bool(kept.isfinite().all())
    assert float((kept == 0).float().mean()) > 0.99


def test_masks_follow_from_torch_s_seed_and_differ_from_call_to_call() -> None:
    """RELIABILITY, randomness: a mask is a function of the key that was set before it."""
    part, values = dropout(0.5), torch.ones(64, 3)
    torch.manual_seed(5)
    first, second = part(values), part(values)
    torch.manual_seed(5)
    assert torch.equal(part(values), first)
    assert not torch.equal(first, second)


def test_neighbouring_values_are_decided_apart() -> None:
    """Values that share a random word are no more alike than others: all 256 patterns of eight
    occur, each 64 times of 16,384, give or take six standard deviations of 8."""
    torch.manual_seed(1)
    kept = dropout(0.5)(torch.ones(16_384, 8)) > 0
    patterns = (kept.long() * 2 ** torch.arange(8)).sum(1).bincount(minlength=256)
    assert int((patterns - 64).abs().max()) < 6 * 8
