"""What a training run tells whoever is watching; the console is one watcher, silence another."""

from dataclasses import dataclass
from typing import Protocol

from seqloom.config import Config
from seqloom.runs.progress import Validation
from seqloom.training import Update

__all__ = ["Plan", "SilentObserver", "TrainingObserver", "ValidationSample"]


@dataclass(frozen=True)
class Plan:
    """What is about to be trained."""

    run: str
    config: Config
    rows: int
    held_out_rows: int
    parameters: int
    start: int  # updates already made
    notes: tuple[str, ...]  # what a reader should know: rows dropped, steps skipped, ...


@dataclass(frozen=True)
class ValidationSample:
    """A held-out example and what the model makes of it."""

    source: str
    reference: str
    output: str


class TrainingObserver(Protocol):
    """Called between updates, never during one."""

    def on_message(self, sentence: str) -> None:
        """Something is about to take a while, or went another way than usual."""
        ...

    def on_warning(self, sentence: str) -> None:
        """Something is wrong with the model, and what to try."""
        ...

    def on_start(self, plan: Plan) -> None:
        """The data is ready and training begins."""
        ...

    def on_schedule(self, updates: int, minutes: float) -> None:
        """So many updates were found to fit into the budget of time."""
        ...

    def on_update(self, update: Update) -> None:
        """One more update is made."""
        ...

    def on_validation(
        self, validation: Validation, samples: list[ValidationSample], *, best: bool
    ) -> None:
        """The held-out data was looked at and the step is saved."""
        ...

    def on_end(self, sentence: str) -> None:
        """Training is over, and why."""
        ...


class SilentObserver:
    """Watches and says nothing."""

    def on_message(self, sentence: str) -> None: ...

    def on_warning(self, sentence: str) -> None: ...

    def on_start(self, plan: Plan) -> None: ...

    def on_schedule(self, updates: int, minutes: float) -> None: ...

    def on_update(self, update: Update) -> None: ...

    def on_validation(
        self, validation: Validation, samples: list[ValidationSample], *, best: bool
    ) -> None: ...

    def on_end(self, sentence: str) -> None: ...
