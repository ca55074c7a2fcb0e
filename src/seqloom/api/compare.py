"""Runs side by side: their best held-out results, and the options in which they differ."""

import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console as Terminal
from rich.table import Table
from rich.text import Text

from seqloom.config import flatten
from seqloom.errors import ConfigError, RunError
from seqloom.metrics import lower_is_better
from seqloom.model import build
from seqloom.nn.modules import meta_device
from seqloom.runs.contents import load_config, load_fields
from seqloom.runs.progress import Progress, Validation
from seqloom.store import RunDirectory
from seqloom.tasks import task_of

__all__ = ["Comparison", "RunSummary", "compare"]

WIDEST = 160  # characters in a line that does not go to a terminal


@dataclass(frozen=True)
class RunSummary:
    """One run: its size, training time, best held-out results and base run."""

    run: str
    parameters: int
    updates: int
    minutes: float
    best: Validation
    origin: str
    options: dict[str, Any]
    has_perplexity: bool = True

    @property
    def perplexity(self) -> float:
        """The held-out perplexity; NaN for models of numbers, which have none."""
        return math.exp(min(self.best.loss, 99)) if self.has_perplexity else math.nan


@dataclass(frozen=True)
class Comparison:
    """Several runs, in the order given."""

    entries: tuple[RunSummary, ...]

    @property
    def differing(self) -> list[str]:
        """The options that differ between the runs."""
        first, *others = (entry.options for entry in self.entries)
        names = dict.fromkeys(name for each in (first, *others) for name in each)
        return [n for n in names if any(each.get(n) != first.get(n) for each in others)]

    def as_dicts(self) -> list[dict[str, Any]]:
        """Plain values for JSON, with the options that differ."""
        return [
            {
                **{name: each for name, each in asdict(entry).items() if name != "has_perplexity"},
                "perplexity": None if math.isnan(entry.perplexity) else entry.perplexity,
                "options": {name: entry.options.get(name) for name in self.differing},
            }
            for entry in self.entries
        ]

    def lines(self) -> list[str]:
        """A table of results, with * at the best of each column, and one of differing options."""
        stream = io.StringIO()
        here = Terminal()
        width = here.width if here.is_terminal else WIDEST
        terminal = Terminal(file=stream, width=width, color_system=None)
        terminal.print(self._results())
        if self.differing:
            terminal.print()
            terminal.print(self._options())
        return [line.rstrip() for line in stream.getvalue().rstrip().splitlines()]

    def _results(self) -> Table:
        entries = self.entries
        columns = {
            "parameters": [f"{each.parameters:,}" for each in entries],
            "updates": [f"{each.updates:,}" for each in entries],
            "minutes": [f"{each.minutes:.1f}" for each in entries],
            "best step": [f"{each.best.step:,}" for each in entries],
            "perplexity": _mark_best([each.perplexity for each in entries], lower=True),
            **self._scores(),
        }
        table = _table("run", *columns, right=True)
        for entry, *cells in zip(entries, *columns.values(), strict=True):
            table.add_row(Text(entry.run), *cells)
        return table

    def _scores(self) -> dict[str, list[str]]:
        """A column for each metric that all runs have."""
        names = [dict.fromkeys(entry.best.scores) for entry in self.entries]
        return {
            name: _mark_best(
                [e.best.scores[name] for e in self.entries], lower=lower_is_better(name)
            )
            for name in names[0]
            if all(name in each for each in names)
        }

    def _options(self) -> Table:
        table = _table("option", *(entry.run for entry in self.entries))
        for name in self.differing:
            values = (entry.options.get(name) for entry in self.entries)
            table.add_row(name, *(Text("–" if value is None else str(value)) for value in values))
        return table


def compare(runs: Sequence[str | Path]) -> Comparison:
    """Compare runs by their best held-out results; RunError for a run without a validated step."""
    if not runs:
        raise ConfigError("no run is given", remedy="give the directories of one or more runs")
    return Comparison(tuple(_summarize_run(Path(run)) for run in runs))


def _summarize_run(path: Path) -> RunSummary:
    directory = RunDirectory(path)
    config = load_config(directory)
    latest = directory.latest_checkpoint()
    progress = Progress() if latest is None else Progress.from_dict(latest.progress())
    best = progress.best(config.training.monitor)
    if best is None:
        raise RunError(
            "no step was validated yet", place=path, remedy="train it further, or leave it out"
        )
    source, target = load_fields(directory, config)
    with meta_device():
        network = build(config.model, source=source.items, target=target.items)
    return RunSummary(
        run=str(path),
        parameters=sum(each.numel() for each in network.parameters()),
        updates=progress.step,
        minutes=progress.seconds / 60,
        best=best,
        origin=str(progress.origin),
        options=flatten(config),
        has_perplexity=task_of(config).has_perplexity,
    )


def _mark_best(values: list[float], *, lower: bool = False) -> list[str]:
    """Format a column of numbers, with a star beside the best unless all are equal."""
    known = [value for value in values if not math.isnan(value)] or [math.nan]
    best = min(known) if lower else max(known)
    marks = ["*" if value == best and len(set(values)) > 1 else " " for value in values]
    shown = ["–" if math.isnan(value) else f"{value:.2f}" for value in values]
    return [f"{value}{mark}" for value, mark in zip(shown, marks, strict=True)]


def _table(*headings: str, right: bool = False) -> Table:
    """A table without borders whose first column is never truncated."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(
            Text(heading),
            justify="right" if right and number else "left",
            overflow="fold",
            no_wrap=not number,
        )
    return table
