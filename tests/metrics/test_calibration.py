"""The calibration error is that of its formula, and bins are those of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve  # type: ignore[import-untyped]

from seqloom.drawing.results.reliability import draw_reliability
from seqloom.errors import DataError
from seqloom.metrics import Predictions, Reliability, Score, fit_temperature, score_all

rows = st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=40)


def predictions(found: list[tuple[float, bool]]) -> Predictions:
    outputs = ["a" if right else "b" for _, right in found]
    return Predictions("label", outputs, ["a"] * len(found), confidences=[[p] for p, _ in found])


def calibration_error(data: Predictions) -> Score:
    return {each.name: each for each in score_all(data)}["calibration error"]


def by_definition(found: list[tuple[float, bool]], bins: int) -> float:
    """The sum over bins of share × |mean confidence − accuracy|, one bin after another."""
    error = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [(p, r) for p, r in found if low < p <= high or (number == 0 and p == 0)]
        if inside:
            sure, right = np.mean(inside, axis=0)
            error += len(inside) / len(found) * abs(sure - right)
    return error


@given(found=rows)
def test_the_error_is_that_of_its_definition(found: list[tuple[float, bool]]) -> None:
    diagram = Reliability.of(predictions(found), bins=10)
    edges = {number / 10 for number in range(11)}
    if any(abs(p - edge) < 1e-6 and p not in (0, 1) for p, _ in found for edge in edges):
        return  # on an edge, by rounding, in either bin
    assert diagram.expected_error == pytest.approx(by_definition(found, 10))
    rounding = 1e-12
    assert 0 <= diagram.expected_error <= diagram.largest_error + rounding <= 1 + 2 * rounding
    assert diagram.counts.sum() == len(found)


@given(found=rows)
def test_bins_are_those_of_scikit_learn(found: list[tuple[float, bool]]) -> None:
    diagram = Reliability.of(predictions(found), bins=15)
    right = [int(each) for _, each in found]
    accuracies, confidences = calibration_curve(right, [p for p, _ in found], n_bins=15)
    filled = diagram.counts > 0
    assert diagram.accuracies[filled] == pytest.approx(accuracies)
    assert diagram.confidences[filled] == pytest.approx(confidences)


@given(found=rows, seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(found: list[tuple[float, bool]], seed: int) -> None:
    moved = [found[place] for place in np.random.default_rng(seed).permutation(len(found))]
    one, other = (Reliability.of(predictions(each)).expected_error for each in (found, moved))
    assert one == pytest.approx(other)


def test_a_calibrated_model_has_little_error_and_a_sure_and_wrong_one_all() -> None:
    generator = np.random.default_rng(1)
    sure = generator.uniform(0, 1, 20_000)
    honest = [(float(p), bool(generator.uniform() < p)) for p in sure]
    assert Reliability.of(predictions(honest)).expected_error < 0.02
    worst = calibration_error(predictions([(1.0, False)] * 5))
    assert (worst.value, worst.interval.low, worst.interval.high) == (100, 100, 100)


def test_tags_count_one_by_one() -> None:
    """Confidences 0.9, 0.9 and 0.3 in two bins: one of two right, and one of one."""
    data = Predictions("tags", ["N V", "N"], ["N N", "N"], confidences=[[0.9, 0.9], [0.3]])
    score = calibration_error(data)
    assert score.value == pytest.approx(100 * (2 / 3 * 0.4 + 1 / 3 * 0.7))
    assert score.objective == -score.value
    assert score.signature == "rows:2|bins:15"


def test_without_confidences_nothing_is_said() -> None:
    names = [each.name for each in score_all(Predictions("label", ["a"], ["a"]))]
    assert names == ["accuracy", "macro F1", "weighted F1"]


@pytest.mark.parametrize(
    ("confidences", "message"),
    [
        ([[0.5]], "row 1: 1 confidences do not fit 2 outputs"),
        ([[0.5, 1.5]], "numbers from 0 to 1"),
        ([[0.5, float("nan")]], "numbers from 0 to 1"),
        ([[0.5, 0.5], [0.5]], "columns of 1 and 2 rows"),
    ],
)
def test_what_is_no_confidence_is_refused(confidences: list[list[float]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        score_all(Predictions("tags", ["N V"], ["N N"], confidences=confidences))


def test_the_diagram_says_its_error() -> None:
    diagram = Reliability.of(predictions([(0.9, True), (0.9, False), (0.2, False)]))
    words = "expected calibration error 33.3 %"
    assert words in draw_reliability(diagram).svg()
    assert diagram.text().splitlines()[-1] == words
    assert len(diagram.text().splitlines()) == 4
    assert diagram.as_dict()["expected_calibration_error"] == pytest.approx(1 / 3)


def negative_log_likelihood(scores: np.ndarray, labels: np.ndarray) -> float:
    return float(
        (np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(labels)), labels]).sum()
    )


@pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
def test_the_temperature_that_scores_were_multiplied_with_is_found(factor: float) -> None:
    """Labels drawn from the softmax of scores, which are then told too surely or too humbly."""
    chance = np.random.default_rng(1)
    scores = 2 * chance.normal(size=(8_000, 5))
    labels = (scores + chance.gumbel(size=scores.shape)).argmax(axis=1)
    assert fit_temperature(factor * scores, labels) == pytest.approx(factor, rel=0.06)


@pytest.mark.parametrize("rows", [0, 1, 3, 200])
def test_a_fitted_temperature_is_never_worse_where_it_was_fitted(rows: int) -> None:
    chance = np.random.default_rng(rows)
    scores, labels = chance.normal(size=(rows, 4)), chance.integers(4, size=rows)
    found = fit_temperature(scores, labels)
    before = negative_log_likelihood(scores, labels)
    assert negative_log_likelihood(scores / found, labels) <= before + 1e-6


def test_few_outputs_that_are_all_right_are_not_certain() -> None:
    """Without a prior the likeliest temperature would be 0."""
    scores, labels = np.tile([1.0, 0.0, 0.0], (5, 1)), np.zeros(5, int)
    assert 0.3 < fit_temperature(scores, labels) < 1
