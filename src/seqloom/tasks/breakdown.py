"""What stands behind the scores: results by class, by confidence, by column and by step."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom.drawing import results
from seqloom.drawing.views import View, has_drawing, text_of, write
from seqloom.metrics import (
    ClassReport,
    ColumnErrors,
    ConfusionMatrix,
    Predictions,
    Reliability,
    StepErrors,
    label_report,
    span_report,
)

__all__ = [
    "Breakdown",
    "breakdown_dicts",
    "breakdown_lines",
    "class_breakdowns",
    "forecast_breakdowns",
    "results",
    "write_pictures",
]


@dataclass(frozen=True)
class Breakdown:
    """One view of results under a heading; `name` is its key in JSON and its picture's name."""

    name: str
    heading: str
    view: View


def class_breakdowns(data: Predictions, known: Iterable[str]) -> tuple[Breakdown, ...]:
    """Spans by type where tags mark spans, then classes, confusions, and calibration where
    confidences are there; `known` are the classes of training."""
    found = [Breakdown("spans", "Spans by type", span_report(data))] * data.scheme.marks_spans
    report: ClassReport = label_report(data, known=known)
    found.append(Breakdown(f"{report.what}s", f"{report.what.capitalize()}s one by one", report))
    found.append(Breakdown("confusion", "Confusion matrix", ConfusionMatrix.of(data)))
    if data.confidences:
        found.append(Breakdown("calibration", "Calibration", Reliability.of(data)))
    return tuple(found)


def forecast_breakdowns(columns: ColumnErrors, steps: StepErrors) -> tuple[Breakdown, ...]:
    """Errors by column and by steps ahead."""
    return (
        Breakdown("columns", "Errors by column", columns),
        Breakdown("steps", "Errors by steps ahead", steps),
    )


def breakdown_dicts(breakdowns: Iterable[Breakdown]) -> dict[str, Any]:
    """Plain values for JSON, by name."""
    return {each.name: each.view.as_dict() for each in breakdowns}


def breakdown_lines(breakdowns: Iterable[Breakdown], width: int = 80) -> list[str]:
    """Each as text below its heading, after a blank line."""
    return [
        line
        for each in breakdowns
        for line in ("", each.heading.lower(), *text_of(each.view, width).splitlines())
    ]


def write_pictures(breakdowns: Iterable[Breakdown], folder: Path) -> list[Path]:
    """A PNG of each that can be drawn, in this folder."""
    drawn = [each for each in breakdowns if has_drawing(each.view)]
    paths = [folder / f"{each.name}.png" for each in drawn]
    for each, path in zip(drawn, paths, strict=True):
        write(each.view, path, title=each.heading)
    return paths
