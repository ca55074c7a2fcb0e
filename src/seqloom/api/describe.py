"""A run in words: its fields, its parts, its held-out results."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom.api.load import load
from seqloom.display import Displayed
from seqloom.drawing import notebook
from seqloom.drawing.page import table
from seqloom.drawing.views import text_of
from seqloom.remedies import PYTHON, Wording
from seqloom.runs.contents import choose_step, load_config
from seqloom.runs.parameter_table import PartCount, parameter_table
from seqloom.runs.progress import Progress, Validation
from seqloom.runs.request import TrainingRequest
from seqloom.store import RunDirectory
from seqloom.tasks import task_of, task_of_options

__all__ = ["RunDescription", "check_data", "describe", "example_command"]


@dataclass(frozen=True)
class RunDescription(Displayed):
    """What a run is made of and what it reached."""

    run: str
    step: int  # that is used
    notes: tuple[str, ...]  # steps that cannot be used, and what the run began from
    facts: tuple[tuple[str, str], ...]  # source, target and engine in words
    parts: tuple[PartCount, ...]
    held_out: tuple[tuple[int, str], ...]  # each validated step with its results

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": self.run,
            "step": self.step,
            "notes": list(self.notes),
            **dict(self.facts),
            "parts": [each._asdict() for each in self.parts],
            "held_out": [{"step": step, "results": words} for step, words in self.held_out],
        }

    def lines(self) -> list[str]:
        """The same for people."""
        return [
            f"{self.run}: step {self.step}",
            *self.notes,
            *(f"{name}: {words}" for name, words in self.facts),
            *("", "parameters by part"),
            *(f"{each.parameters:>12,}  {each.name}" for each in self.parts),
            *("", "held-out results"),
            *(
                f"{step:>8,}  {words}{'  used' * (step == self.step)}"
                for step, words in self.held_out
            ),
        ]


def describe(run: str | Path) -> RunDescription:
    """A run's fields, its parts with their parameter counts, and its held-out results."""
    model, directory = load(run), RunDirectory(Path(run))
    task, (step, notes) = task_of(model.config), choose_step(directory)
    latest = directory.latest_checkpoint() or step
    progress = Progress.from_dict(latest.progress())
    begun = [f"begun from {progress.origin}"] if progress.origin else []
    return RunDescription(
        str(directory.path),
        step.number,
        (*map(str, notes), *begun),
        (
            ("source", model.source.describe()),
            ("target", model.target.describe()),
            ("engine", model.describe_engine()),
        ),
        tuple(parameter_table(model.network)),
        tuple(
            (each.step, f"{task.describe_validation(each)}{_exposure_gap(each)}")
            for each in progress.validations
        ),
    )


@text_of.register
def description_text(description: RunDescription, width: int = 80) -> str:
    """The lines, whatever their width."""
    return "\n".join(description.lines())


@notebook.notebook_part.register
def description_html(description: RunDescription) -> str:
    """Facts, and tables of parts and held-out results."""
    parts = [(f"{each.parameters:,}", each.name) for each in description.parts]
    held_out = [
        (f"{step:,}", words, "used" * (step == description.step))
        for step, words in description.held_out
    ]
    facts = [("run", f"{description.run}, step {description.step:,}"), *description.facts]
    return "\n".join(
        [
            table((), facts),
            *(notebook.paragraph(note, "faint") for note in description.notes),
            notebook.heading("Parameters by part"),
            table(("parameters", "part"), parts, numbers=(0,)),
            notebook.heading("Held-out results"),
            table(("update", "results", ""), held_out, numbers=(0,)),
        ]
    )


def example_command(run: Path, data: str) -> str:
    """The command that uses a finished run, which was trained on this data."""
    config = load_config(RunDirectory(run))
    quoted = Path(shlex.quote(str(run)))  # as a shell reads it
    return task_of(config).example_command(config, quoted, shlex.quote(data))


def _exposure_gap(validation: Validation) -> str:
    """The exposure gap, where one was measured."""
    return f", exposure gap {validation.gap:.3f}" if validation.gap else ""


def check_data(request: TrainingRequest, *, wording: Wording = PYTHON) -> Iterator[str]:
    """Findings as lines of text in the words of a front end, in the order they become known.

    DataError at the end where training would stop at a bad row; here all of them are counted first.
    """
    return task_of_options(request).check_data(request, wording)
