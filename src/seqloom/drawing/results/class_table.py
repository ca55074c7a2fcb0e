"""Precision, recall, F1 and support of each class, as text and as an HTML table."""

import html

from seqloom.drawing.page import table
from seqloom.drawing.views import fragment_of, text_of
from seqloom.metrics import ClassReport

__all__ = ["class_report_html", "class_report_text"]

LINES = 30  # classes in a terminal; JSON and pages are complete
ROWS = 500  # classes on a page


@text_of.register
def class_report_text(report: ClassReport, width: int = 80) -> str:
    """A line for each of the most frequent classes, and the averages."""
    return "\n".join(report.lines(LINES))


@fragment_of.register
def class_report_html(report: ClassReport) -> str:
    """A row for each class, and the averages."""
    shown = (*report.classes[:ROWS], report.micro)
    rows = [
        (each.name, *map(_rate, (each.precision, each.recall, each.f1)), f"{each.support:,}")
        for each in shown
    ]
    rows += [(name, *map(_rate, rates.values()), "") for name, rates in report.averages.items()]
    headings = (report.what, "precision", "recall", "F1", "support")
    note = f"<p>{html.escape(report.unseen_line())}</p>" if report.unseen else ""
    return table(headings, rows, numbers=(1, 2, 3, 4)) + note


def _rate(value: float) -> str:
    return f"{value:.1f}"
