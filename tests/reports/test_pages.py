"""A run's report: order of examples, length against quality, and what stands on the page."""

import numpy as np

from seqloom.drawing.curves import Curves
from seqloom.explanations.attention_map import AttentionMap
from seqloom.metrics import Interval, Score
from seqloom.reports.pages import RunReport
from seqloom.tasks.report_rows import ReportRow
from tests.explain.pictures import WORKED


def made(*judged: ReportRow, looks: tuple[AttentionMap, ...] = (WORKED,)) -> RunReport:
    return RunReport(
        run="runs/<x>",
        facts=(("source", "words"),),
        parts=(("1,234", "encoder"),),
        curves=Curves([(1, 2.0)], [(1, 2.5)], [(1, 50.0)], [(1, 0.1)], [(1, 1.0)]),
        best=1,
        scores=(Score("chrF", 50.0, Interval(40.0, 60.0), "nc:6"),),
        report_rows=judged,
        views=looks,
        options=(("seed", "1"),),
        repeat=("seqloom evaluate runs/x TEST",),
    )


def row(quality: float, length: int, score: float = -1.0) -> ReportRow:
    return ReportRow(f"s{length}", "reference", f"<b>{quality}", quality, length, score)


def test_rows_are_ranked_by_quality_then_by_how_sure_the_model_is() -> None:
    best, sure, unsure, worst = row(90, 1), row(50, 2, -1), row(50, 3, -5), row(0, 4)
    assert made(unsure, worst, best, sure).rank_rows() == [best, sure, unsure, worst]


def test_length_against_quality_by_hand() -> None:
    """Twelve rows in six groups of two, whose quality falls with the length."""
    report = made(*(row(100 - 5 * n, n) for n in range(12, 0, -1)))
    lengths, means, counts = zip(*report.by_length(), strict=True)
    np.testing.assert_allclose(lengths, [1.5, 3.5, 5.5, 7.5, 9.5, 11.5])
    np.testing.assert_allclose(means, [92.5, 82.5, 72.5, 62.5, 52.5, 42.5])
    assert counts == (2,) * 6
    assert made(row(10, 3), row(20, 3)).by_length() == [(3.0, 15.0, 2)]


def test_texts_are_not_markup() -> None:
    page = made(row(10, 1), row(90, 2)).page()
    assert "&lt;b&gt;10" in page
    assert "<b>" not in page
    assert "runs/&lt;x&gt;: a report" in page
    assert "40.0–60.0" in page
    assert "nothing of the kind" in made(row(1, 1), looks=()).page()
