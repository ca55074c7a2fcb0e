"""How a model does on a data set: its scores, those of baselines, and what stands behind them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seqloom.data import Report
from seqloom.display import Displayed
from seqloom.drawing import notebook, results
from seqloom.drawing.page import table
from seqloom.drawing.results import score_table
from seqloom.drawing.views import View, has_drawing, text_of, write
from seqloom.errors import ConfigError, RunError
from seqloom.metrics import (
    ClassReport,
    ColumnErrors,
    ConfusionMatrix,
    Predictions,
    Reliability,
    Score,
    StepErrors,
    baseline_ahead,
    label_report,
    span_report,
)
from seqloom.prediction.warnings import WarningCounts
from seqloom.remedies import Setting

__all__ = [
    "Breakdown",
    "Evaluation",
    "EvaluationResult",
    "breakdown_dicts",
    "breakdown_lines",
    "class_breakdowns",
    "forecast_breakdowns",
    "results",
    "with_baselines",
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


@dataclass(frozen=True)
class EvaluationResult(Displayed, ABC):
    """The rows that were read, and the scores of the model on them."""

    report: Report
    scores: tuple[Score, ...]
    breakdowns: tuple[Breakdown, ...] = field(default=(), kw_only=True)

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    @abstractmethod
    def lines(self) -> list[str]:
        """The same for people."""

    @abstractmethod
    def row_line(self) -> str:
        """Which rows were measured, in a line."""

    def baseline_rows(self) -> list[tuple[str, str]]:
        """What each baseline reaches, by its name."""
        return []

    def baseline_scores(self) -> dict[str, tuple[Score, ...]]:
        """The scores of each baseline, by its name."""
        return {}

    def ahead_lines(self) -> list[str]:
        """Which baseline is ahead of the model and what to try, where one is."""
        own = {score.name: score.value for score in self.scores}
        sentence = baseline_ahead(own, self.baseline_scores())
        return [sentence] if sentence else []

    def warning_lines(self) -> list[str]:
        """How many inputs were unlike all that was learnt, and in what way."""
        return []

    def variate_lines(self) -> list[str]:
        """A line for each column that is forecast; ConfigError where none is."""
        raise ConfigError(
            "this is for series, and this run's target is not one", place=Setting("by_variate")
        )

    def detail_lines(self, width: int = 80) -> list[str]:
        """What stands behind the scores, for people: by class, by confidence, by column and step,
        whatever the target has."""
        return breakdown_lines(self.breakdowns, width)

    def write_pictures(self, folder: Path) -> list[Path]:
        """The same as pictures, in this folder; ConfigError where there is nothing to draw."""
        paths = write_pictures(self.breakdowns, folder)
        if not paths:
            raise ConfigError(
                "results of such targets have no pictures",
                place=Setting("pictures", folder),
                remedy="leave it out",
            )
        return paths

    def score_lines(self) -> list[str]:
        """A line for each metric, with its 95 % interval and how it was computed."""
        width = max(32, *(len(str(score)) for score in self.scores))
        return [f"{score!s:<{width}} {score.signature}" for score in self.scores]


@dataclass(frozen=True)
class Evaluation(EvaluationResult):
    """How a model does on the rows of a data set, beside baselines."""

    baselines: Mapping[str, Score] = field(default_factory=dict)  # by the score that leads
    note: str = ""  # why there are none
    temperature: float = 1.0  # that confidences were fitted at
    warnings: WarningCounts = field(default_factory=WarningCounts)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = {
            "rows": self.report.kept,
            "not_counted": {str(why): each.count for why, each in self.report.dropped.items()},
            "unseen": dict(self.report.unseen),
            "scores": [score.as_dict() for score in self.scores],
        }
        if self.temperature != 1.0:
            found["temperature"] = self.temperature
        if self.warnings.counts:
            found["warnings"] = dict(self.warnings.counts)
        if self.baselines:
            found["baselines"] = {name: each.as_dict() for name, each in self.baselines.items()}
        return {**found, **breakdown_dicts(self.breakdowns)}

    def warning_lines(self) -> list[str]:
        """How many inputs were unlike all that was learnt, and in what way."""
        return self.warnings.lines()

    def row_line(self) -> str:
        """How many rows were read, and what was left out."""
        return self.report.count_line()

    def baseline_rows(self) -> list[tuple[str, str]]:
        """What each baseline reaches, or why there are none."""
        rows = [(name, str(score)) for name, score in self.baselines.items()]
        return [*rows, *([("", self.note)] if self.note else [])]

    def lines(self) -> list[str]:
        """A line for each metric, and one for what each baseline reaches."""
        unseen = self.report.unseen_line()
        rows = [self.report.count_line(), *([unseen] if unseen else [])]
        beside = [f"{name}: {score}" for name, score in self.baselines.items()]
        beside += [self.note] if self.note else []
        fitted = f"confidences at temperature {self.temperature:.2f}, fitted on held-out rows"
        told = [*self.score_lines(), *([fitted] if self.temperature != 1.0 else [])]
        return [*rows, *told, *(["", "baselines", *beside] if beside else [])]


@text_of.register
def evaluation_text(found: EvaluationResult, width: int = 80) -> str:
    """The lines that `evaluate` prints, then what stands behind the scores."""
    return "\n".join([*found.lines(), *found.warning_lines(), *found.detail_lines(width)])


@notebook.notebook_part.register
def evaluation_html(found: EvaluationResult) -> str:
    """A table of scores, one of baselines, and what stands behind the scores, to be unfolded."""
    parts = [notebook.paragraph(line, "faint") for line in (found.row_line(),)]
    parts += [score_table(found.scores)]
    if found.baseline_rows():
        parts += [notebook.heading("Baselines"), table((), found.baseline_rows())]
    parts += [notebook.paragraph(line, "faint") for line in found.ahead_lines()]
    parts += [notebook.paragraph(line, "faint") for line in found.warning_lines()]
    parts += [
        notebook.details(each.heading, notebook.notebook_part(each.view))
        for each in found.breakdowns
    ]
    return "\n".join(parts)


def with_baselines(
    found: Evaluation, training_rows: Path | None, measure: Callable[[Path], Mapping[str, Score]]
) -> Evaluation:
    """The evaluation with what baselines learnt from the training rows reach, or why there are
    none."""
    if training_rows is None:
        return found
    try:
        return replace(found, baselines=measure(training_rows))
    except RunError:
        gone = f"none: the training rows in {training_rows} are gone; train on to have them back"
        return replace(found, note=gone)
