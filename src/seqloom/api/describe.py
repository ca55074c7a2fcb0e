"""Descriptions of a run: its fields, its parts, its held-out results."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom.api.console import Watch, open_observer
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
    """The fields, parts and held-out results of a run."""

    run: str
    step: int  # the one in use
    notes: tuple[str, ...]  # unusable steps, and the base run
    facts: tuple[tuple[str, str], ...]  # (name, text) for source, target and engine
    parts: tuple[PartCount, ...]
    held_out: tuple[tuple[int, str], ...]  # (step, results) of each validation

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
        """The description as lines of text."""
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
    """The lines, not wrapped to the width."""
    return "\n".join(description.lines())


@notebook.notebook_part.register
def description_html(description: RunDescription) -> str:
    """The facts, and tables of parts and held-out results, as HTML."""
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
    """The command line that tries a finished run on the data it was trained on."""
    config = load_config(RunDirectory(run))
    quoted = Path(shlex.quote(str(run)))  # as a shell reads it
    return task_of(config).example_command(config, quoted, shlex.quote(data))


def _exposure_gap(validation: Validation) -> str:
    """The exposure gap as text; empty if it was not measured."""
    return f", exposure gap {validation.gap:.3f}" if validation.gap else ""


def check_data(
    request: TrainingRequest, *, wording: Wording = PYTHON, watch: Watch = False
) -> Iterator[str]:
    """Check data as training would; yield findings as lines, in the wording of a front end.

    All bad rows are counted; DataError at the end if training would stop at one.
    """
    task = task_of_options(request)
    with open_observer(watch) as observer:
        yield from task.check_data(request, wording, observer)
