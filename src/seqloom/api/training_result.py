"""The result of training, as values, as text and in a notebook."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom.display import Displayed
from seqloom.drawing import notebook
from seqloom.drawing.curves import Curves, fill_curves
from seqloom.drawing.image_files import Drawing
from seqloom.drawing.page import table
from seqloom.drawing.views import text_of
from seqloom.errors import RunError, SeqloomError
from seqloom.runs.contents import best_step, load_config
from seqloom.runs.progress import Progress, Validation
from seqloom.store import RunDirectory
from seqloom.tasks import task_of

__all__ = ["TrainingResult", "not_validated", "read_diagnosis"]


@dataclass(frozen=True)
class TrainingResult(Displayed):
    """The result of `seqloom.train`: the run directory and its best held-out results."""

    run: Path
    steps: int
    seconds: float
    best: Validation
    diagnosis: str = ""  # what is wrong and what to try, if nothing was learnt

    @classmethod
    def of(cls, directory: RunDirectory) -> "TrainingResult":
        """The result read from a finished run's directory."""
        step, latest = best_step(directory), directory.latest_checkpoint()
        progress = Progress.from_dict((latest or step).progress())
        best = next((each for each in progress.validations if each.step == step.number), None)
        if best is None:
            raise not_validated(directory)
        sentence = read_diagnosis(directory, progress.step)
        return cls(directory.path, progress.step, progress.seconds, best, sentence)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "run": str(self.run), "best": vars(self.best)}

    def facts(self) -> list[tuple[str, str]]:
        """The result as (name, text)."""
        minutes = self.seconds / 60
        time = f"{minutes:.1f} minutes" if minutes >= 1 else f"{self.seconds:.1f} seconds"
        return [
            ("run", str(self.run)),
            ("updates", f"{self.steps:,} in {time}"),
            ("best", f"step {self.best.step:,}: {self._describe_best()}"),
            *([("diagnosis", self.diagnosis)] if self.diagnosis else []),
        ]

    def _describe_best(self) -> str:
        """The best held-out results as text."""
        directory = RunDirectory(self.run)
        if directory.exists:
            return task_of(load_config(directory)).describe_validation(self.best)
        return ", ".join(f"{name} {value:.4g}" for name, value in self.best.scores.items())


def read_diagnosis(directory: RunDirectory, step: int) -> str:
    """What was found wrong with a run that ended at this step, and what to try."""
    last = {"event": "verdict", "step": step}
    verdicts = [each for each in directory.events() if last.items() <= each.items()]
    return str(verdicts[-1]["sentence"]) if verdicts else ""


def not_validated(directory: RunDirectory) -> RunError:
    """The error for a run in which no step was validated."""
    return RunError("no step was validated", place=directory.path, remedy="remove it, train again")


@text_of.register
def result_text(result: TrainingResult, width: int = 80) -> str:
    """One line per fact."""
    return "\n".join(f"{name}: {words}" for name, words in result.facts())


@notebook.notebook_part.register
def result_html(result: TrainingResult) -> str:
    """The facts and, if the run still exists, its learning curves, as HTML."""
    parts = [table((), result.facts())]
    try:
        curves = Curves.of(RunDirectory(result.run).events())
    except SeqloomError:
        return parts[0]
    if curves.training or curves.held_out:
        best = result.best.step
        drawing = Drawing((), lambda figure, _: fill_curves(figure, curves, best))
        parts.append(notebook.picture(drawing, "learning curves"))
    return "\n".join(parts)
