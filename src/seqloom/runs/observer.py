"""What a training run tells whoever is watching; the console is one watcher, silence another."""

from dataclasses import dataclass
from typing import Protocol

from seqloom.config import Config
from seqloom.runs.progress import Validation
from seqloom.training import Update

__all__ = ["Plan", "Sample", "Silent", "Watch"]


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
class Sample:
    """A held-out example and what the model makes of it."""

    source: str
    reference: str
    output: str


class Watch(Protocol):
    """Called between updates, never during one."""

    def says(self, sentence: str) -> None:
        """Something is about to take a while, or went another way than usual."""
        ...

    def warns(self, sentence: str) -> None:
        """Something is wrong with the model, and what to try."""
        ...

    def starts(self, plan: Plan) -> None:
        """The data is ready and training begins."""
        ...

    def updated(self, update: Update) -> None:
        """One more update is made."""
        ...

    def validated(self, validation: Validation, samples: list[Sample], *, best: bool) -> None:
        """The held-out data was looked at and the step is saved."""
        ...

    def ends(self, sentence: str) -> None:
        """Training is over, and why."""
        ...


class Silent:
    """Watches and says nothing."""

    def says(self, sentence: str) -> None: ...

    def warns(self, sentence: str) -> None: ...

    def starts(self, plan: Plan) -> None: ...

    def updated(self, update: Update) -> None: ...

    def validated(self, validation: Validation, samples: list[Sample], *, best: bool) -> None: ...

    def ends(self, sentence: str) -> None: ...
