"""A run's report: facts from its directory, and results on held-out rows."""

from pathlib import Path
from typing import TypedDict

from seqloom.api.load import load
from seqloom.api.training_result import read_diagnosis
from seqloom.config import flatten
from seqloom.data import Corpus, Data
from seqloom.drawing.curves import Curves
from seqloom.drawing.image_files import write_bytes
from seqloom.errors import RunError
from seqloom.prediction import Predictor
from seqloom.reports.pages import PAGES, RunReport
from seqloom.runs.contents import best_step
from seqloom.runs.parameter_table import parameter_table
from seqloom.runs.progress import Progress
from seqloom.store import RunDirectory
from seqloom.tasks import task_of
from seqloom.version import __version__

__all__ = ["report", "write_report"]

ROWS = 500  # evaluated


def write_report(run: str | Path, to: Path, *, data: Data | None = None) -> RunReport:
    """Write the report of a run as one HTML page."""
    made = report(run, data=data)
    write_bytes(to, made.page().encode())
    return made


def report(run: str | Path, *, data: Data | None = None, most: int = ROWS) -> RunReport:
    """Build the report of a run, with results on data it was not trained on.

    Without `data`, these are the run's held-out rows, if it still has them.
    """
    directory, model = RunDirectory(Path(run)), load(run)
    results = task_of(model.config).report(directory, model, data, most=most)
    page = PAGES[results.layout]
    return page(**_report_header(directory, model, data), **results.as_fields())


def _report_header(directory: RunDirectory, model: Predictor, data: Data | None) -> "ReportHeader":
    """What a report says of any run."""
    step = best_step(directory)
    progress = Progress.from_dict((directory.latest_checkpoint() or step).progress())
    return {
        "run": str(directory.path),
        "facts": _facts(directory, model, progress, step.number),
        "parts": tuple((f"{p.parameters:,}", p.name) for p in parameter_table(model.network)),
        "curves": Curves.of(directory.events()),
        "best": step.number,
        "options": tuple((name, str(value)) for name, value in flatten(model.config).items()),
        "repeat": _repeat(directory, data),
        "diagnosis": read_diagnosis(directory, progress.step),
    }


class ReportHeader(TypedDict):
    """What a report says of any run."""

    run: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, str], ...]
    curves: Curves
    best: int
    options: tuple[tuple[str, str], ...]
    repeat: tuple[str, ...]
    diagnosis: str


def _facts(
    directory: RunDirectory, model: Predictor, progress: Progress, step: int
) -> tuple[tuple[str, str], ...]:
    """The data, the model and the training as (name, text)."""
    facts = [
        ("source", model.source.describe()),
        ("target", model.target.describe()),
        ("parameters", f"{sum(each.numel() for each in model.network.parameters()):,}"),
        ("updates", f"{progress.step:,}; step {step:,} did best and is used"),
        ("time", f"{progress.seconds / 60:.1f} minutes"),
    ]
    for side, words in (("train", "rows learnt from"), ("valid", "rows held out")):
        try:
            facts.append((words, f"{len(Corpus.open(directory.cache_directory / side)):,}"))
        except RunError:
            continue
    facts += [(name, str(value)) for name, value in progress.surroundings.items()]
    facts += [("begun from", str(progress.origin))] if progress.origin else []
    return (*facts, ("seqloom", __version__))


def _repeat(directory: RunDirectory, data: Data | None) -> tuple[str, ...]:
    """Commands that reproduce the run and the report; the path of the data is not known."""
    run = directory.path
    tested = data if isinstance(data, str | Path) else "TEST"
    return (
        f"seqloom train DATA --run NEW-RUN --config {run}/config.toml",
        f"seqloom evaluate {run} {tested}",
        f"seqloom report {run}" + (f" --data {tested}" if data is not None else ""),
    )
