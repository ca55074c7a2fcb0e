"""How a model does on a data set: its scores, and those of baselines."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seqloom.data import Report
from seqloom.errors import ConfigError, RunError
from seqloom.metrics import Score
from seqloom.prediction.warnings import WarningCounts
from seqloom.remedies import Setting
from seqloom.tasks.breakdown import Breakdown, breakdown_dicts, breakdown_lines, write_pictures

__all__ = ["Evaluation", "EvaluationResult", "with_baselines"]


@dataclass(frozen=True)
class EvaluationResult(ABC):
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
    warnings: WarningCounts = field(default_factory=WarningCounts)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = {
            "rows": self.report.kept,
            "not_counted": {str(why): each.count for why, each in self.report.dropped.items()},
            "unseen": dict(self.report.unseen),
            "scores": [score.as_dict() for score in self.scores],
        }
        if self.warnings.counts:
            found["warnings"] = dict(self.warnings.counts)
        if self.baselines:
            found["baselines"] = {name: each.as_dict() for name, each in self.baselines.items()}
        return {**found, **breakdown_dicts(self.breakdowns)}

    def warning_lines(self) -> list[str]:
        """How many inputs were unlike all that was learnt, and in what way."""
        return self.warnings.lines()

    def lines(self) -> list[str]:
        """A line for each metric, and one for what each baseline reaches."""
        unseen = self.report.unseen_line()
        rows = [self.report.count_line(), *([unseen] if unseen else [])]
        beside = [f"{name}: {score}" for name, score in self.baselines.items()]
        beside += [self.note] if self.note else []
        return [*rows, *self.score_lines(), *(["", "baselines", *beside] if beside else [])]


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
