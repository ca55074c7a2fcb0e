"""The evaluation of a model on a data set: scores, baselines, and breakdowns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seqloom.config import Config
from seqloom.data import Corpus, Report
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
from seqloom.prediction import Predictor
from seqloom.prediction.warnings import WarningCounts
from seqloom.remedies import Setting

__all__ = [
    "Breakdown",
    "Evaluation",
    "EvaluationResult",
    "advice",
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
    """A breakdown of results with a heading; `name` is its key in JSON and its picture's name."""

    name: str
    heading: str
    view: View


def class_breakdowns(data: Predictions, known: Iterable[str]) -> tuple[Breakdown, ...]:
    """Spans by type if tags mark spans, then classes, confusions, and calibration if confidences
    are known; `known` are the training classes.
    """
    found = [Breakdown("spans", "Spans by type", span_report(data))] * data.scheme.marks_spans
    report: ClassReport = label_report(data, known=known)
    found.append(Breakdown(f"{report.what}s", f"{report.what.capitalize()}s one by one", report))
    found.append(Breakdown("confusion", "Confusion matrix", ConfusionMatrix.of(data)))
    if data.confidences:
        found.append(Breakdown("calibration", "Calibration", Reliability.of(data)))
    return tuple(found)


def forecast_breakdowns(columns: ColumnErrors, steps: StepErrors) -> tuple[Breakdown, ...]:
    """Errors by column and by step ahead."""
    return (
        Breakdown("columns", "Errors by column", columns),
        Breakdown("steps", "Errors by steps ahead", steps),
    )


def breakdown_dicts(breakdowns: Iterable[Breakdown]) -> dict[str, Any]:
    """Plain values for JSON, by name."""
    return {each.name: each.view.as_dict() for each in breakdowns}


def breakdown_lines(breakdowns: Iterable[Breakdown], width: int = 80) -> list[str]:
    """Each breakdown as text below its heading, after a blank line."""
    return [
        line
        for each in breakdowns
        for line in ("", each.heading.lower(), *text_of(each.view, width).splitlines())
    ]


def write_pictures(breakdowns: Iterable[Breakdown], folder: Path) -> list[Path]:
    """Write a PNG of each breakdown that has a picture to this folder."""
    drawn = [each for each in breakdowns if has_drawing(each.view)]
    paths = [folder / f"{each.name}.png" for each in drawn]
    for each, path in zip(drawn, paths, strict=True):
        write(each.view, path, title=each.heading)
    return paths


@dataclass(frozen=True)
class EvaluationResult(Displayed, ABC):
    """The rows evaluated, and the model's scores on them."""

    report: Report
    scores: tuple[Score, ...]
    breakdowns: tuple[Breakdown, ...] = field(default=(), kw_only=True)
    advice: str = field(default="", kw_only=True)  # what to try if a baseline is ahead

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    @abstractmethod
    def lines(self) -> list[str]:
        """The result as lines of text."""

    @abstractmethod
    def row_line(self) -> str:
        """A line on the rows evaluated."""

    def baseline_rows(self) -> list[tuple[str, str]]:
        """The result of each baseline, by name."""
        return []

    def baseline_scores(self) -> dict[str, tuple[Score, ...]]:
        """The scores of each baseline, by name."""
        return {}

    def ahead_lines(self) -> list[str]:
        """The baseline ahead of the model and what to try, if there is one."""
        own = {score.name: score.value for score in self.scores}
        intervals = {score.name: score.interval for score in self.scores}
        sentence = baseline_ahead(own, self.baseline_scores(), self.advice, intervals=intervals)
        return [sentence] if sentence else []

    def warning_lines(self) -> list[str]:
        """The number of unusual inputs by kind."""
        return []

    def variate_lines(self) -> list[str]:
        """A line for each forecast column; ConfigError for other targets."""
        raise ConfigError(
            "this is for series, and this run's target is not one", place=Setting("by_variate")
        )

    def detail_lines(self, width: int = 80) -> list[str]:
        """Breakdowns as lines: by class, by confidence, by column and step, depending on the
        target.
        """
        return breakdown_lines(self.breakdowns, width)

    def write_pictures(self, folder: Path) -> list[Path]:
        """Write the breakdowns as pictures to this folder; ConfigError if there are none."""
        paths = write_pictures(self.breakdowns, folder)
        if not paths:
            raise ConfigError(
                "results of such targets have no pictures",
                place=Setting("pictures", folder),
                remedy="leave it out",
            )
        return paths

    def score_lines(self) -> list[str]:
        """A line for each metric, with its 95 % interval and signature."""
        width = max(32, *(len(str(score)) for score in self.scores))
        return [f"{score!s:<{width}} {score.signature}" for score in self.scores]


@dataclass(frozen=True)
class Evaluation(EvaluationResult):
    """The evaluation of a model on the rows of a data set, with baselines."""

    baselines: Mapping[str, Score] = field(default_factory=dict)  # main score of each
    note: str = ""  # why there are none
    temperature: float = 1.0  # of the confidences
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
        if ahead := self.ahead_lines():
            found["ahead"] = ahead[0]
        return {**found, **breakdown_dicts(self.breakdowns)}

    def warning_lines(self) -> list[str]:
        """The number of unusual inputs by kind."""
        return self.warnings.lines()

    def row_line(self) -> str:
        """The number of rows read and dropped."""
        return self.report.count_line()

    def baseline_rows(self) -> list[tuple[str, str]]:
        """The result of each baseline, or why there are none."""
        rows = [(name, str(score)) for name, score in self.baselines.items()]
        return [*rows, *([("", self.note)] if self.note else [])]

    def baseline_scores(self) -> dict[str, tuple[Score, ...]]:
        """The main score of each baseline."""
        return {name: (score,) for name, score in self.baselines.items()}

    def lines(self) -> list[str]:
        """A line for each metric, one for each baseline, and one if a baseline is ahead."""
        unseen = self.report.unseen_line()
        rows = [self.report.count_line(), *([unseen] if unseen else [])]
        beside = [f"{name}: {score}" for name, score in self.baselines.items()]
        beside += [*self.ahead_lines(), *([self.note] if self.note else [])]
        fitted = f"confidences at temperature {self.temperature:.2f}, fitted on held-out rows"
        told = [*self.score_lines(), *([fitted] if self.temperature != 1.0 else [])]
        return [*rows, *told, *(["", "baselines", *beside] if beside else [])]


@text_of.register
def evaluation_text(found: EvaluationResult, width: int = 80) -> str:
    """The output of `evaluate`, then the breakdowns."""
    return "\n".join([*found.lines(), *found.warning_lines(), *found.detail_lines(width)])


@notebook.notebook_part.register
def evaluation_html(found: EvaluationResult) -> str:
    """A table of scores, one of baselines, and collapsible breakdowns."""
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


SMALL = 10_000  # training rows, below which more of them are suggested first
READ_IN_ORDER = ("text", "turns", "columns", "vectors", "sound", "video")  # kinds of source


def advice(config: Config, rows: int | None) -> str:
    """What to try if a baseline is ahead, most promising first: settings that the model was not
    trained with, and more training rows, as far as known.
    """
    tried = []
    if config.source.kind in READ_IN_ORDER:
        other = "transformer" if config.model.encoder.kind == "recurrent" else "lstm"
        tried.append(f"the preset {other}")
    tried.append(f"training.updates={2 * config.training.updates}")
    more = f"more rows than these {rows:,}" if rows else "more rows"
    tried = [more, *tried] if rows and rows < SMALL else [*tried, more]
    return f"try {', '.join(tried)}, or use the baseline"


def with_baselines(
    found: Evaluation, model: Predictor, measure: Callable[[Path], Mapping[str, Score]]
) -> Evaluation:
    """The evaluation with baselines learnt from the training rows and what to try if one is ahead,
    or why there are none.
    """
    place = model.training_rows
    if place is None:
        return found
    try:
        reached, rows = measure(place), len(Corpus.open(place))
    except RunError:
        gone = f"none: the training rows in {place} are gone; train on to have them back"
        return replace(found, note=gone)
    return replace(found, baselines=reached, advice=advice(model.config, rows))
