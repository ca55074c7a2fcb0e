"""Training progress in a notebook: one output that is updated and stays at the end."""

import time
from types import TracebackType
from typing import Any, Protocol, Self

from seqloom.drawing.notebook import details, notebook_html, paragraph
from seqloom.drawing.page import table
from seqloom.runs.progress import Plan, RunningFigures, Validation, ValidationSample, plan_summary
from seqloom.tasks import Task, task_of
from seqloom.training import Update

__all__ = ["Display", "NotebookProgress"]

SECONDS = 0.5  # between two updates, so that a fast training does not flood the notebook
SHOWN = 12  # shown of the newest validations


class Display(Protocol):
    """A notebook output that can be updated in place."""

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        """Replace the output: text by MIME type."""
        ...


class NotebookProgress:
    """An observer that shows a bar, the held-out results so far and the newest examples."""

    def __init__(self, display: Display) -> None:
        self.display = display
        self.figures = RunningFigures()
        self.lines: list[str] = []  # messages, which stay
        self.message = "preparing"  # before the first update
        self.results: list[tuple[str, str, str]] = []
        self.samples: list[ValidationSample] = []
        self.kind: Task[Any] | None = None
        self.step = self.updates = 0
        self.ended = ""
        self.drawn = 0.0

    def __enter__(self) -> Self:
        self._draw()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.on_end(f"stopped at update {self.step:,}" if self.step else "not begun")

    def on_message(self, sentence: str) -> None:
        self.message = sentence
        self.lines += [sentence] if self.updates else []
        self._draw()

    def on_progress(self, phase: str, share: float) -> None:
        if share and time.monotonic() - self.drawn >= SECONDS:
            self.message = f"{phase}: {share:.0%}"
            self._draw()

    def on_warning(self, sentence: str) -> None:
        self.lines.append(f"⚠ {sentence}")
        self._draw()

    def on_start(self, plan: Plan) -> None:
        self.kind = task_of(plan.config)
        self.lines += [*plan.notes, plan_summary(plan)]
        self.lines += [f"going on after update {plan.start:,}"] if plan.start else []
        self.step, self.updates = plan.start, plan.config.training.updates
        self._draw()

    def on_schedule(self, updates: int, minutes: float) -> None:
        self.updates = updates
        self.on_message(f"about {updates:,} updates fit into {minutes:g} minutes")

    def on_update(self, update: Update) -> None:
        self.figures.add(update)
        self.step = update.step
        if time.monotonic() - self.drawn >= SECONDS:
            self._draw()

    def on_validation(
        self, validation: Validation, samples: list[ValidationSample], *, best: bool
    ) -> None:
        words = "" if self.kind is None else self.kind.describe_validation(validation)
        self.results.append((f"{validation.step:,}", words, "best so far" * best))
        self.samples = samples
        self._draw()

    def on_end(self, sentence: str) -> None:
        self.ended = sentence
        self._draw()

    def _draw(self) -> None:
        self.drawn = time.monotonic()
        bundle = {"text/plain": self._text(), "text/html": self._html()}
        self.display.update(bundle, raw=True)

    def _text(self) -> str:
        rows = ["  ".join(filter(None, row)) for row in self.results[-SHOWN:]]
        return "\n".join([*self.lines, *rows, self.ended or self._state()])

    def _state(self) -> str:
        """Progress as a line of text."""
        if not self.updates:
            return self.message
        return f"update {self.step:,} of {self.updates:,} · {self.figures}"

    def _html(self) -> str:
        parts = [paragraph(line, "faint") for line in self.lines]
        if self.ended:
            parts.append(paragraph(self.ended))
        else:
            done = f' value="{self.step}" max="{self.updates}"' if self.updates else ""
            parts += [f"<progress{done}></progress>", paragraph(self._state())]
        if self.results:
            headings = ("update", "held-out results", "")
            parts.append(table(headings, self.results[-SHOWN:], numbers=(0,)))
        if self.samples:
            rows = [(each.source, each.output, each.reference) for each in self.samples]
            parts.append(details("Examples", table(("source", "output", "reference"), rows)))
        return notebook_html(parts)
