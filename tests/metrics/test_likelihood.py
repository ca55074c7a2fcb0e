"""Perplexity is what its definition says, over tokens and not over rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.errors import DataError
from seqloom.metrics import perplexity

LENGTHS = st.lists(st.integers(1, 200), min_size=1, max_size=30)


@given(vocabulary=st.integers(1, 100_000), lengths=LENGTHS)
def test_a_uniform_model_over_v_symbols_has_perplexity_v(
    vocabulary: int, lengths: list[int]
) -> None:
    score = perplexity([-length * math.log(vocabulary) for length in lengths], lengths)
    assert score.value == pytest.approx(vocabulary)
    assert (score.interval.low, score.interval.high) == pytest.approx((vocabulary, vocabulary))


@given(lengths=LENGTHS)
def test_a_certain_model_has_perplexity_1(lengths: list[int]) -> None:
    score = perplexity([0.0] * len(lengths), lengths)
    assert (score.value, score.interval.low, score.interval.high) == (1, 1, 1)


def test_every_token_counts_alike() -> None:
    """One token at 1/2 and three at 1/4 have a mean of 7/4 bits."""
    score = perplexity([math.log(1 / 2), 3 * math.log(1 / 4)], [1, 3])
    assert score.value == pytest.approx(2 ** (7 / 4))
    assert score.signature == "rows:2|tokens:4"


def test_the_interval_is_that_of_normal_theory() -> None:
    """With n rows of one token and deviation s, the log of the interval is ±1.96 s/√n wide."""
    rows, deviation = 4_000, 0.5
    surprise = np.random.default_rng(0).normal(3.0, deviation, rows)
    score = perplexity(-surprise, np.ones(rows, np.int64))
    half = math.log(score.interval.high / score.interval.low) / 2
    assert half == pytest.approx(1.96 * deviation / math.sqrt(rows), rel=0.1)
    assert score.interval.low < score.value < score.interval.high


def test_more_than_a_float_can_hold_is_infinite_and_no_error() -> None:
    assert perplexity([-1e6, -1.0], [1, 1]).value == math.inf


@pytest.mark.parametrize(
    ("log_probabilities", "counts", "message"),
    [
        ([-1.0], [1, 2], "columns of 1 and 2 rows"),
        ([], [], "no rows"),
        ([-1.0, math.nan], [1, 1], "row 2: log-probability nan of 1 tokens"),
        ([-math.inf, -1.0], [1, 1], "row 1: log-probability -inf"),
        ([-1.0, -1.0, 0.5], [1, 1, 1], "row 3: log-probability 0.5"),
        ([-1.0], [0], "row 1: .* of 0 tokens"),
    ],
)
def test_what_has_no_perplexity_is_refused(
    log_probabilities: list[float], counts: list[int], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        perplexity(log_probabilities, counts)
