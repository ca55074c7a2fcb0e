"""Accuracy is a share, and its interval is that of a share."""

import math

import pytest

from seqloom.errors import DataError
from seqloom.metrics import Score, target_scores


def accuracy(outputs: list[str], references: list[str]) -> Score:
    return target_scores("label", outputs, references)[0]


def test_predictions_of_the_toy_language_model_are_four_fifths_right() -> None:
    """S10."""
    assert accuracy([*"52623"], [*"52613"]).value == pytest.approx(80)


def test_the_interval_is_that_of_a_binomial_share() -> None:
    rows, share = 2_000, 0.3
    labels = ["yes"] * rows
    guesses = ["yes"] * round(share * rows) + ["no"] * round((1 - share) * rows)
    score = accuracy(guesses, labels)
    half = 100 * 1.96 * math.sqrt(share * (1 - share) / rows)
    assert score.value == pytest.approx(100 * share)
    assert (score.interval.high - score.interval.low) / 2 == pytest.approx(half, rel=0.1)
    assert score.interval.low < score.value < score.interval.high


def test_labels_and_guesses_must_pair_up() -> None:
    with pytest.raises(DataError, match="the same number of rows"):
        accuracy(["a"], ["a", "b"])
