"""Training on a terminal: a bar while it goes, a few plain lines at each validation."""

import math
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Self

from rich.console import Console as Terminal
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from seqloom.config import ColumnConfig, Config
from seqloom.runs.observer import Plan, SilentObserver, TrainingObserver, ValidationSample
from seqloom.runs.processes.torchrun_environment import torchrun_environment
from seqloom.runs.progress import Validation
from seqloom.tasks import Task, task_of
from seqloom.training import Update

__all__ = ["Console", "Watch", "open_observer"]

NO_UNITS = {"none": "nothing"}  # columns that are made of nothing
LINE_EVERY = 60.0  # seconds without a line, at most, where there is no bar
SMOOTH = 0.95  # of what was shown before, in the running figures


Watch = TrainingObserver | bool | None
"""Who watches a training: an observer; True for the console; False for nobody; None decides."""


def open_observer(watch: Watch) -> AbstractContextManager[TrainingObserver]:
    """What watches: where nothing is said, the console in a terminal or a notebook, else nobody."""
    if watch is True or (watch is None and (sys.stderr.isatty() or _in_notebook())):
        return Console()
    return nullcontext(watch or SilentObserver())


class Console:
    """A watcher that writes to the terminal; where there is none, only lines are written, at least
    one a minute.

    Of ranks that a launcher has started, only the first speaks.
    """

    def __init__(self) -> None:
        place = torchrun_environment()
        self.speaks = place is None or place.rank == 0
        self.terminal = Terminal(stderr=True, highlight=False, soft_wrap=True)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self.terminal,
            transient=True,
            disable=not (self.terminal.is_terminal and self.speaks),
        )
        self.task = self.bar.add_task("training", total=None, visible=False, figures="")
        self.loss = self.speed = math.nan
        self.held_out = ""
        self.kind: Task[Any] | None = None
        self.began = self.spoke = time.monotonic()
        self.updates = 0

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def on_message(self, sentence: str) -> None:
        self._print(Text(sentence, style="dim"))

    def on_warning(self, sentence: str) -> None:
        self.terminal.print(Text(sentence, style="bold red"))

    def on_start(self, plan: Plan) -> None:
        self.kind = task_of(plan.config)
        for note in plan.notes:
            self.terminal.print(Text(note, style="yellow"))
        self.terminal.print(Text(_summary(plan)))
        if plan.start:
            self.terminal.print(Text(f"going on after update {plan.start:,}"))
        self.updates = plan.config.training.updates
        self.bar.update(self.task, total=self.updates, completed=plan.start, visible=True)

    def on_schedule(self, updates: int, minutes: float) -> None:
        self.on_message(f"about {updates:,} updates fit into {minutes:g} minutes")
        self.updates = updates
        self.bar.update(self.task, total=updates)

    def on_update(self, update: Update) -> None:
        self.loss = _blend(self.loss, update.loss)
        self.speed = _blend(self.speed, update.tokens / update.seconds)
        figures = f"loss {self.loss:.3f}{self.held_out}  {self.speed:,.0f} tokens/s"
        self.bar.update(self.task, completed=update.step, figures=figures)
        if self.bar.disable and time.monotonic() - self.spoke >= LINE_EVERY:
            done = f"update {update.step:,} of {self.updates:,} · {self._minutes:.1f} min"
            self._print(Text(f"{done} · {figures.replace('  ', ' · ')}"))

    def on_validation(
        self, validation: Validation, samples: list[ValidationSample], *, best: bool
    ) -> None:
        first = next(iter(validation.scores.items()), ("loss", validation.loss))
        self.held_out = f"  held-out {first[0]} {first[1]:.2f}"
        self._print(
            Text.assemble(
                (f"update {validation.step:,}", "bold"),
                f" · {self._minutes:.1f} min · training loss {self.loss:.3f} · held-out: "
                f"{self._describe(validation)}",
                (" · best so far", "green") if best else "",
            )
        )
        for sample in samples:
            self.terminal.print(Text(f"    {sample.source}", style="dim"))
            right = sample.output == sample.reference
            self.terminal.print(Text(f"      → {sample.output}", style="green" if right else ""))
            if not right:
                self.terminal.print(Text(f"      = {sample.reference}", style="dim"))

    @property
    def _minutes(self) -> float:
        return (time.monotonic() - self.began) / 60

    def _print(self, line: Text) -> None:
        self.terminal.print(line)
        self.spoke = time.monotonic()

    def _describe(self, validation: Validation) -> str:
        return "" if self.kind is None else self.kind.describe_validation(validation)

    def on_end(self, sentence: str) -> None:
        self.bar.update(self.task, visible=False)
        self.terminal.print(Text(sentence, style="bold"))


def _in_notebook() -> bool:
    """Whether this is IPython, in a notebook or a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None


def _blend(before: float, now: float) -> float:
    return now if math.isnan(before) else SMOOTH * before + (1 - SMOOTH) * now


def _summary(plan: Plan) -> str:
    config = plan.config
    return (
        f"{plan.rows:,} rows to learn from, {plan.held_out_rows:,} held out · "
        f"{_units(config)} · {_kinds(config)} model of "
        f"{plan.parameters:,} parameters · {config.training.updates:,} updates "
        f"of {config.training.batch_tokens:,} positions"
    )


def _kinds(config: Config) -> str:
    """The kinds of encoder and decoder, in one word where they are the same."""
    kinds = config.model.encoder.kind, config.model.decoder.kind
    return "-to-".join(dict.fromkeys(kind for kind in kinds if kind != "none"))


def _units(config: Config) -> str:
    source, target = _unit(config.source), _unit(config.target)
    return source if source == target else f"{source} to {target}"


def _unit(column: ColumnConfig) -> str:
    """What a column is made of, in a word."""
    unit: str = getattr(column, "unit", column.kind.rstrip("s"))
    return NO_UNITS.get(column.kind, f"{unit}s")
