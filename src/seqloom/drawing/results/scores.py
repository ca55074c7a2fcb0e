"""Scores as an HTML table."""

from collections.abc import Iterable

from seqloom.drawing.page import table
from seqloom.metrics import Score

__all__ = ["score_table"]


def score_table(scores: Iterable[Score]) -> str:
    """A row for each metric: value, interval and signature."""
    rows = [
        (each.name, f"{each.value:.{each.digits}f}", each.range, each.signature) for each in scores
    ]
    headings = ("metric", "value", "95 % interval", "how it is computed")
    return table(headings, rows, numbers=(1, 2))
