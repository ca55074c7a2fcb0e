"""S8: counted n-grams beside a language model."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.baselines.ngrams import NGrams

TEXTS = st.lists(st.integers(0, 4), min_size=1, max_size=40)


@given(TEXTS, TEXTS, st.integers(1, 4))
def test_probabilities_of_all_that_may_follow_add_up_to_one(
    learnt: list[int], before: list[int], order: int
) -> None:
    """After any beginning, seen or not."""
    grams = NGrams.learn(np.array(learnt), order=order, vocabulary=5)
    found = [grams.log_probabilities(np.array([*before, token]))[-1] for token in range(5)]
    assert sum(map(math.exp, found)) == pytest.approx(1.0)


def test_a_bigram_worked_by_hand() -> None:
    """In a b a b a c: b after a twice, c once; discount 1/(1 + 2·2) of the pairs ab ba ac, of which
    one comes once; of single tokens a ends one pair (ba), b one and c one, so each counts 1."""
    text = np.array([0, 1, 0, 1, 0, 2])
    grams = NGrams.learn(text, order=2, vocabulary=4)
    shorter = (1 - 0.5) / 3 + 0.5 * 3 / 3 / 4  # no token ends two pairs: the discount is a half
    discount = 1 / (1 + 2 * 2)
    expected = (2 - discount) / 3 + discount * 2 / 3 * shorter
    assert grams.log_probabilities(np.array([0, 1]))[1] == pytest.approx(math.log(expected))


def test_what_always_comes_next_is_foretold() -> None:
    text = np.tile([0, 1, 2, 3, 4], 200)
    grams = NGrams.learn(text, order=3, vocabulary=5)
    assert np.exp(grams.log_probabilities(text)[2:]).min() > 0.99
