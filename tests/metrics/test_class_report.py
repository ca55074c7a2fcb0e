"""Per-label scores and the confusion matrix are those of scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (  # type: ignore[import-untyped]
    confusion_matrix,
    f1_score,
    precision_recall_fscore_support,
)

from seqloom.drawing.results.confusion import draw_confusion
from seqloom.metrics import ConfusionMatrix, Predictions, label_report, target_scores

pairs = st.lists(
    st.tuples(st.sampled_from("abcx"), st.sampled_from("abcd")), min_size=1, max_size=30
)


def predictions(rows: list[tuple[str, str]]) -> Predictions:
    return Predictions("label", [output for output, _ in rows], [label for _, label in rows])


@given(rows=pairs)
def test_labels_are_scored_as_by_scikit_learn(rows: list[tuple[str, str]]) -> None:
    data = predictions(rows)
    report = label_report(data)
    names = [each.name for each in report.classes]
    truth, guesses = data.references, data.outputs
    theirs = precision_recall_fscore_support(truth, guesses, labels=names, zero_division=0)
    for ours, wanted in zip(("precision", "recall", "f1"), theirs, strict=False):
        assert [getattr(each, ours) for each in report.classes] == pytest.approx(100 * wanted)
    assert [each.support for each in report.classes] == theirs[3].tolist()
    there = sorted(set(truth))
    found = {each.name: each.value for each in target_scores("label", guesses, truth, seed=None)}
    for average in ("macro", "weighted"):
        wanted = precision_recall_fscore_support(
            truth, guesses, labels=there, average=average, zero_division=0
        )
        assert [*report.averages[average].values()] == pytest.approx([100 * w for w in wanted[:3]])
        assert found[f"{average} F1"] == pytest.approx(100 * wanted[2])
    assert report.micro.f1 == pytest.approx(100 * f1_score(truth, guesses, average="micro"))


@given(rows=pairs, seed=st.integers(0, 99))
def test_the_matrix_is_that_of_scikit_learn_in_any_order_of_rows(
    rows: list[tuple[str, str]], seed: int
) -> None:
    rows = [*rows, ("a", "b")]  # scikit-learn warns of a single label
    matrix = ConfusionMatrix.of(predictions(rows))
    theirs = confusion_matrix(
        [label for _, label in rows], [output for output, _ in rows], labels=list(matrix.labels)
    )
    assert (matrix.counts == theirs).all()
    moved = [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]
    again = ConfusionMatrix.of(predictions(moved))
    assert (again.labels, again.counts.tolist()) == (matrix.labels, matrix.counts.tolist())
    assert label_report(predictions(moved)) == label_report(predictions(rows))
    assert matrix.as_dict() == {"labels": [*matrix.labels], "counts": theirs.tolist()}


@given(rows=pairs, most=st.integers(2, 6))
def test_folding_keeps_all_rows_and_the_frequent_labels(
    rows: list[tuple[str, str]], most: int
) -> None:
    matrix = ConfusionMatrix.of(predictions(rows))
    folded = matrix.fold(most)
    assert len(folded.labels) == min(most, len(matrix.labels))
    assert folded.counts.sum() == len(rows)
    kept = len(folded.labels) - 1
    assert folded.labels[:kept] == matrix.labels[:kept]
    assert (folded.counts[:kept, :kept] == matrix.counts[:kept, :kept]).all()
    assert folded.counts.sum(axis=1)[:kept].tolist() == matrix.counts.sum(axis=1)[:kept].tolist()


def test_unseen_labels_are_errors_and_are_named() -> None:
    """Two labels that training never had, three times: three of five rows are wrong."""
    data = predictions([("a", "a"), ("a", "new"), ("b", "b"), ("b", "new"), ("b", "rare")])
    report = label_report(data, known=["a", "b", "c"])
    assert report.unseen == (("new", 2), ("rare", 1))
    assert report.unseen_line() == (
        "2 labels of the references are not in the training data, so 3 cases count as wrong: "
        "new (2), rare (1)"
    )
    assert target_scores("label", data.outputs, data.references)[0].value == pytest.approx(40)
    assert label_report(data, known=["a", "b", "new", "rare"]).unseen_line() == ""
    assert report.lines()[-1] == report.unseen_line()


def test_reports_by_hand() -> None:
    data = Predictions("tags", ["N V N", "V"], ["N V V", "V"])
    assert label_report(data).lines() == [
        "tag          precision  recall      F1  support",
        "V                100.0    66.7    80.0        3",
        "N                 50.0   100.0    66.7        1",
        "all (micro)       75.0    75.0    75.0        4",
        "macro             75.0    83.3    73.3",
        "weighted          87.5    75.0    76.7",
    ]
    matrix = ConfusionMatrix.of(data)
    assert matrix.text() == "\n".join(
        ["rows: references, columns: outputs", "     1  2", "1 V  2  1", "2 N  ·  1"]
    )
    assert matrix.confusions() == [("V", "N", 1)]
    assert "V → N  1" in matrix.text(width=5)


def test_every_line_of_a_matrix_fits_its_terminal_or_is_a_list() -> None:
    names = [f"label {number}" for number in range(40)]
    matrix = ConfusionMatrix.of(predictions([*zip(names, names[1:] + names[:1], strict=True)]))
    assert len(matrix.text(80).splitlines()) == 21
    assert all(len(line) <= 200 for line in matrix.text(200).splitlines())


@pytest.mark.parametrize("size", [2, 24, 60, 75])
def test_a_picture_names_its_labels(size: int) -> None:
    """All up to sixty; beyond, the rarest as one. No label lies on another."""
    names = [f"class-{number:03}" for number in range(size)]
    matrix = ConfusionMatrix.of(predictions([(name, name) for name in names]))
    drawing = draw_confusion(matrix)
    assert len(drawing.labels) == min(size, 60)
    picture = drawing.svg()
    shown = [name for name in names if picture.count(f">{name}<") == 2]
    assert len(shown) == (size if size <= 60 else 59)


@pytest.mark.parametrize("size", [2, 10, 60])
def test_labels_of_a_picture_do_not_touch(size: int) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [f"class-{number:03}" for number in range(size)]
    matrix = ConfusionMatrix.of(predictions([(name, names[0]) for name in names] * 1_234))
    figure = Figure()
    FigureCanvasAgg(figure)
    drawing = draw_confusion(matrix)
    drawing.fill(figure, drawing.labels)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    for labels, low, high in (
        (axes.get_yticklabels(), "y0", "y1"),
        (axes.get_xticklabels(), "x0", "x1"),
    ):
        boxes = sorted(
            (getattr(box, low), getattr(box, high))
            for box in (label.get_window_extent() for label in labels)
        )
        assert len(boxes) == size
        assert all(one[1] <= other[0] + 0.5 for one, other in pairwise(boxes))
    cell = abs(axes.transData.transform((1, 0))[0] - axes.transData.transform((0, 0))[0])
    assert all(text.get_window_extent().width <= cell for text in axes.texts)
