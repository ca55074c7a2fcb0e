"""Training progress on a terminal: a bar, and a few lines at each validation."""

import sys
import time
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Self

from rich.console import Console as Terminal
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from seqloom.api.notebook_progress import NotebookProgress
from seqloom.runs.process import torchrun_environment
from seqloom.runs.progress import (
    Plan,
    RunningFigures,
    SilentObserver,
    TrainingObserver,
    Validation,
    ValidationSample,
    plan_summary,
)
from seqloom.tasks import Task, task_of
from seqloom.training import Update

__all__ = ["Console", "PhaseConsole", "Watch", "open_observer"]

LINE_EVERY = 60.0  # most seconds between two lines where there is no bar
RECENT = 30.0  # seconds by whose progress the time left is estimated, as by the bar


Watch = TrainingObserver | bool | None
"""An observer of training, True for the console, False for none, or None to choose."""


def open_observer(watch: Watch) -> AbstractContextManager[TrainingObserver]:
    """The observer to use: by default the notebook's, the console in a terminal, else a
    silent one.
    """
    if watch is True or watch is None:
        notebook = _open_notebook()
        if notebook is not None:
            return notebook
        if watch or sys.stderr.isatty():
            return Console()
    return nullcontext(watch or SilentObserver())


class Console:
    """An observer that writes to the terminal; without one it writes plain lines, at least one a
    minute.

    Of the ranks of a launcher, only rank 0 writes.
    """

    def __init__(self) -> None:
        place = torchrun_environment()
        self.speaks = place is None or place.rank == 0
        self.terminal = Terminal(stderr=True, highlight=False, soft_wrap=True)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self.terminal,
            transient=True,
            disable=not (self.terminal.is_terminal and self.speaks),
        )
        self.task = self.bar.add_task("training", total=None, visible=False, figures="")
        self.preparation = self.bar.add_task("", total=None, visible=False, figures="")
        self.phase, self.phase_began = "", time.monotonic()
        self.recent: deque[tuple[float, float]] = deque()  # times and shares of the phase
        self.shown = "", False  # the phase that the bar shows, and whether it knows how far it is
        self.running = RunningFigures()
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

    def on_progress(self, phase: str, share: float) -> None:
        if phase != self.phase:
            self.phase, self.phase_began = phase, time.monotonic()
            self.recent.clear()
        self._note_share(share)
        if (phase, share > 0) != self.shown:
            self.shown = phase, share > 0
            self.bar.remove_task(self.preparation)
            self.preparation = self.bar.add_task(
                phase, total=100 if share else None, figures="%" if share else ""
            )
        self.bar.update(self.preparation, completed=round(100 * share), visible=share < 1)
        if share == 1:
            self.phase, self.shown = "", ("", False)
        elif self.bar.disable and time.monotonic() - self.spoke >= LINE_EVERY:
            minutes = (time.monotonic() - self.phase_began) / 60
            left = self._minutes_left(share)
            known = f" · about {left:.0f} min left" if share and left is not None else ""
            done = f"{share:.0%}{known}" if share else f"{minutes:.0f} min so far"
            self._print(Text(f"{phase} · {done}"))

    def _note_share(self, share: float) -> None:
        """Note the progress, and forget all but the last before the recent time."""
        now = time.monotonic()
        self.recent.append((now, share))
        while len(self.recent) > 2 and now - self.recent[1][0] >= RECENT:
            self.recent.popleft()

    def _minutes_left(self, share: float) -> float | None:
        """The time left by recent progress, since a phase that goes on where it was interrupted
        begins with what is done already; None if there was none.
        """
        began, first = self.recent[0]
        if share <= first:
            return None
        return (time.monotonic() - began) * (1 - share) / (share - first) / 60

    def on_warning(self, sentence: str) -> None:
        self.terminal.print(Text(sentence, style="bold red"))

    def on_start(self, plan: Plan) -> None:
        self.kind = task_of(plan.config)
        for note in plan.notes:
            self.terminal.print(Text(note, style="yellow"))
        self.terminal.print(Text(plan_summary(plan)))
        if plan.start:
            self.terminal.print(Text(f"going on after update {plan.start:,}"))
        self.updates = plan.config.training.updates
        self.bar.update(self.task, total=self.updates, completed=plan.start, visible=True)

    def on_schedule(self, updates: int, minutes: float) -> None:
        self.on_message(f"about {updates:,} updates fit into {minutes:g} minutes")
        self.updates = updates
        self.bar.update(self.task, total=updates)

    def on_update(self, update: Update) -> None:
        self.running.add(update)
        loss, speed = str(self.running).split(" · ")
        figures = f"{loss}{self.held_out}  {speed}"
        self.bar.update(self.task, completed=update.step, figures=figures)
        if self.bar.disable and time.monotonic() - self.spoke >= LINE_EVERY:
            done = f"update {update.step:,} of {self.updates:,} · {self._minutes:.1f} min"
            self._print(Text(f"{done} · {figures.replace('  ', ' · ')}"))

    def on_validation(
        self, validation: Validation, samples: list[ValidationSample], *, best: bool
    ) -> None:
        first = next(iter(validation.scores.items()), ("loss", validation.loss))
        self.held_out = f"  held-out {first[0]} {first[1]:.2f}"
        learnt = f"training loss {self.running.loss:.3f} · " if validation.step else ""
        self._print(
            Text.assemble(
                (f"update {validation.step:,}", "bold"),
                f" · {self._minutes:.1f} min · {learnt}held-out: {self._describe(validation)}",
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


class PhaseConsole(Console):
    """The same of a command that prints its findings between one phase and the next: a bar while
    one lasts, and no word about those that take less than a minute."""

    def __enter__(self) -> Self:
        return self

    def on_message(self, sentence: str) -> None:
        """Nothing: the findings tell what was done."""

    def on_progress(self, phase: str, share: float) -> None:
        self.bar.start()
        super().on_progress(phase, share)
        if share == 1:
            self.bar.stop()


def _open_notebook() -> NotebookProgress | None:
    """Progress in the notebook whose kernel this is; None in a terminal, IPython's included."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return NotebookProgress(display({"text/plain": "preparing"}, raw=True, display_id=True))
