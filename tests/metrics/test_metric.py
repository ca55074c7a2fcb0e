"""Every metric keeps the contract of the family."""

import math
from collections.abc import Mapping
from random import Random

import numpy as np
import pytest

from seqloom.metrics import (
    METRICS,
    NO_INTERVAL,
    Direction,
    Interval,
    Predictions,
    Score,
    baseline_ahead,
    lower_is_better,
    metrics_for,
    score_all,
    target_scores,
)

CHANCE = Random(1)
SENTENCES = [" ".join(CHANCE.choices(["one", "two", "three", "four"], k=6)) for _ in range(30)]
OTHERS = [" ".join(CHANCE.choices(["one", "two", "three", "four"], k=6)) for _ in range(30)]
TAGS = [" ".join(CHANCE.choices(["O", "B-a", "I-a", "B-b"], k=6)) for _ in range(30)]
OTHER_TAGS = [" ".join(CHANCE.choices(["O", "B-a", "I-a", "B-b"], k=6)) for _ in range(30)]
SURE = [[CHANCE.random() for _ in range(6)] for _ in range(30)]
CASES = {
    "sentences": Predictions("text", OTHERS, SENTENCES),
    "names": Predictions("text", [o[:5] for o in OTHERS], [r[:5] for r in SENTENCES]),
    "phonemes": Predictions(
        "text", [" ".join(o[:5]) for o in OTHERS], [" ".join(r[:5]) for r in SENTENCES]
    ),
    "labels": Predictions(
        "label",
        [o[:3] for o in OTHERS],
        [r[:3] for r in SENTENCES],
        confidences=[s[:1] for s in SURE],
    ),
    "tags": Predictions("tags", OTHER_TAGS, TAGS, confidences=SURE),
    "numbers": Predictions(
        "number", [str(len(o)) for o in OTHERS], [str(len(r)) for r in SENTENCES]
    ),
}
each_case = pytest.mark.parametrize("case", CASES)


def permuted(data: Predictions, order: list[int]) -> Predictions:
    return Predictions(
        data.kind,
        [data.outputs[place] for place in order],
        [data.references[place] for place in order],
        data.lowercase,
        [data.confidences[place] for place in order] if data.confidences else (),
    )


@each_case
def test_the_order_of_rows_changes_no_value(case: str) -> None:
    data = CASES[case]
    order = Random(2).sample(range(len(data)), len(data))
    one, other = (score_all(each, seed=None) for each in (data, permuted(data, order)))
    assert [each.name for each in one] == [each.name for each in other]
    assert [each.value for each in one] == pytest.approx([each.value for each in other])


@each_case
def test_intervals_hold_their_values_and_directions_their_ends(case: str) -> None:
    """Nothing is better than the references themselves, in the direction that a metric names."""
    data = CASES[case]
    perfect = {
        each.name: each
        for each in score_all(Predictions(data.kind, data.references, data.references))
    }
    for score in score_all(data):
        assert score.interval.is_known
        assert score.interval.low <= score.value <= score.interval.high
        if score.name in perfect:
            assert perfect[score.name].objective >= score.objective
            assert perfect[score.name].is_better_than(score)
    assert all(each.interval is NO_INTERVAL for each in score_all(data, seed=None))


@each_case
def test_one_leads_and_it_is_better_when_higher(case: str) -> None:
    """What a run is selected by has a target that it reaches from below."""
    data = CASES[case]
    fitting = metrics_for(data)
    assert [each.leads(data) for each in fitting] == [True] + [False] * (len(fitting) - 1)
    assert fitting[0].direction is Direction.HIGHER


def test_a_row_that_counts_twice_is_two_rows() -> None:
    """A metric is a function of counts: doubling rows is counting them twice."""
    for data in CASES.values():
        counts = np.array([1 + place % 2 for place in range(len(data))])
        order = [place for place in range(len(data)) for _ in range(counts[place])]
        twice = permuted(data, order)
        for metric in metrics_for(data):
            ones = np.ones(len(twice), np.int64)
            assert metric.measure(data)(counts) == pytest.approx(metric.measure(twice)(ones))


def test_names_and_directions() -> None:
    for kind in METRICS.kinds():
        metric = METRICS.parts[kind]
        assert kind in (metric.name, f"forecast {metric.name}")
        assert lower_is_better(metric.name) is (metric.direction is Direction.LOWER)
    assert not lower_is_better("of no metric")
    assert all(map(lower_is_better, ("WER", "CER", "RMSE", "MAE", "MASE", "perplexity")))
    assert not any(map(lower_is_better, ("chrF", "BLEU", "exact match", "accuracy", "span F1")))


def test_plain_values() -> None:
    score = target_scores("label", ["a", "b"], ["a", "a"], seed=None)[0]
    assert score.as_dict() == {
        "name": "accuracy",
        "value": 50.0,
        "better": "higher",
        "signature": "rows:2",
        "digits": 1,
    }
    with_interval = target_scores("label", ["a", "b"], ["a", "a"])[0].as_dict()
    assert (with_interval["low"], with_interval["high"]) == (0, 100)


def test_the_best_baseline_ahead_is_named_with_what_to_try() -> None:
    """By the first score that it shares with the model, in that score's own direction."""

    def score(name: str, value: float, direction: Direction) -> Score:
        return Score(name, value, NO_INTERVAL, "", direction, 2)

    reached = {
        "worse": [score("MSE", 0.5, Direction.LOWER)],
        "better": [score("other", 9.0, Direction.LOWER), score("MSE", 0.3, Direction.LOWER)],
        "best": [score("MSE", 0.2, Direction.LOWER), score("R²", 0.0, Direction.HIGHER)],
    }

    def told(own: Mapping[str, float], intervals: Mapping[str, Interval] | None = None) -> str:
        return baseline_ahead(own, reached, "try more rows", intervals=intervals or {})

    said = told({"R²": 0.6, "MSE": 0.4})
    assert said == "the baseline 'best' is ahead: MSE 0.20 against 0.40; try more rows"
    assert told({"R²": 0.6, "MSE": 0.2}) == ""
    assert told({"BLEU": 1.0}) == ""
    assert told({"MSE": 0.204}) == ""  # the same figure
    assert told({"MSE": 0.21}) != ""
    assert told({"MSE": 0.4}, {"MSE": Interval(0.2, 0.6)}) == ""
    assert told({"MSE": 0.4}, {"MSE": Interval(0.25, 0.6)}) == said
    for lost in (math.nan, math.inf):
        assert "best' is ahead: MSE 0.20 against" in told({"MSE": lost})
        assert (
            baseline_ahead(
                {"MSE": 0.9}, {"lost": [score("MSE", lost, Direction.LOWER)]}, "", intervals={}
            )
            == ""
        )
