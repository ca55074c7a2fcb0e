"""The learning rate over the updates (S6.6)."""

import math
from itertools import pairwise

import pytest

from seqloom.training import learning_rate
from tests.training.support import training

LAST = {
    "cosine": 0.05,
    "linear": 0.05,
    "inverse-sqrt": 0.5 * math.sqrt(0.1),
    "plateau": 0.5,
    "constant": 0.5,
}


@pytest.mark.parametrize("decay", LAST)
def test_learning_rate(decay: str) -> None:
    """It rises in a line to its highest, never rises again, and ends where it should."""
    config = training(updates=100, warmup=10, rate=0.5, decay=decay, final_rate=0.1)
    rates = [learning_rate(config, step) for step in range(100)]
    assert rates[:10] == pytest.approx([0.05 * (step + 1) for step in range(10)])
    assert max(rates) == pytest.approx(0.5)
    assert all(one >= two - 1e-12 for one, two in pairwise(rates[9:]))
    assert rates[-1] == pytest.approx(LAST[decay], rel=0.1)


def test_a_linear_decay_is_a_line() -> None:
    config = training(updates=100, warmup=10, rate=0.5, decay="linear", final_rate=0.0)
    rates = [learning_rate(config, step) for step in range(10, 101)]
    assert rates[0] == 0.5
    assert rates[-1] == 0.0
    assert [one - two for one, two in pairwise(rates)] == pytest.approx([0.5 / 90] * 90)


@pytest.mark.parametrize("decay", LAST)
def test_without_warmup_and_past_the_end(decay: str) -> None:
    """No division by nothing, and no rate below 0."""
    config = training(updates=1, warmup=0, rate=0.5, decay=decay, final_rate=0.1)
    assert learning_rate(config, 0) == pytest.approx(0.5)
    assert 0.0 < learning_rate(config, 1_000) <= 0.5
