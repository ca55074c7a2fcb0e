"""A run in words: its fields, its parts, its held-out results."""

import shlex
from pathlib import Path

from seqloom.api.load import load
from seqloom.runs.contents import choose_step, load_config
from seqloom.runs.parameter_table import parameter_lines
from seqloom.runs.progress import Progress, Validation
from seqloom.store import RunDirectory
from seqloom.tasks import task_of

__all__ = ["describe", "example_command"]


def describe(run: str | Path) -> list[str]:
    """Lines about a run: fields, parts with their parameter counts, held-out results."""
    model, directory = load(run), RunDirectory(Path(run))
    task, (step, notes) = task_of(model.config), choose_step(directory)
    latest = directory.latest_checkpoint() or step
    progress = Progress.from_dict(latest.progress())
    lines = [f"{directory.path}: step {step.number}", *map(str, notes)]
    lines += [f"begun from {progress.origin}"] if progress.origin else []
    for side, column in (("source", model.source), ("target", model.target)):
        lines.append(f"{side}: {column.describe()}")
    lines.append(f"engine: {model.describe_engine()}")
    lines += ["", "parameters by part"]
    lines += parameter_lines(model.network)
    lines += ["", "held-out results"]
    lines += [
        f"{each.step:>8,}  {task.describe_validation(each)}{_exposure_gap(each)}"
        f"{'  used' * (each.step == step.number)}"
        for each in progress.validations
    ]
    return lines


def example_command(run: Path, data: str) -> str:
    """The command that uses a finished run, which was trained on this data."""
    config = load_config(RunDirectory(run))
    quoted = Path(shlex.quote(str(run)))  # as a shell reads it
    return task_of(config).example_command(config, quoted, shlex.quote(data))


def _exposure_gap(validation: Validation) -> str:
    """The exposure gap, where one was measured."""
    return f", exposure gap {validation.gap:.3f}" if validation.gap else ""
