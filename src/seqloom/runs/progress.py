"""The progress of a run (progress.json), and the observer of training."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from seqloom.config import ColumnConfig, Config, TrainingConfig
from seqloom.errors import RunError

if TYPE_CHECKING:
    from seqloom.training import Update

__all__ = [
    "Monitor",
    "Origin",
    "Plan",
    "Progress",
    "RunningFigures",
    "SilentObserver",
    "TrainingObserver",
    "Validation",
    "ValidationSample",
    "phase",
    "plan_summary",
]

Monitor = Literal["loss", "metric"]


@dataclass(frozen=True)
class Validation:
    """Validation results after `step` updates."""

    step: int
    loss: float  # per item of the target, without smoothing: nats, or a squared error
    metric: float  # main metric of the target's kind; larger is better
    scores: Mapping[str, float] = field(default_factory=dict)  # by name, the main one first
    interval: Mapping[str, float] = field(default_factory=dict)  # low and high of that one, 95 %
    training: float = 0.0  # running mean of the training loss
    outputs: int = 0  # distinct outputs among those decoded; 0 if a single one could be correct
    temperature: float = 1.0  # calibration of label scores
    copies: bool = False  # whether to copy unknown words from the source
    gap: float = 0.0  # exposure gap of the loss, from feeding back outputs

    def value(self, monitor: Monitor) -> float:
        """The monitored value; larger is better."""
        return -self.loss if monitor == "loss" else self.metric

    def reaches(self, target: float, monitor: Monitor) -> bool:
        """Whether it reaches the target; 0 is no target."""
        return target > 0 and self.value(monitor) >= (-target if monitor == "loss" else target)


@dataclass(frozen=True)
class Origin:
    """The origin of a run: another run at a step, or files of weights, in words."""

    run: str = ""  # empty if not a run
    step: int = 0
    words: str = ""
    validated: bool = False  # whether it is a validated model, which validation may prefer

    def __str__(self) -> str:
        return f"{self.run}, step {self.step}" if self.run else self.words

    def __bool__(self) -> bool:
        return bool(self.run or self.words)

    @classmethod
    def from_plain(cls, value: str | Mapping[str, Any]) -> "Origin":
        """The inverse of `asdict`; runs of 0.1.0 have only a description."""
        if not isinstance(value, str):
            return cls(**value)
        run, _, step = value.rpartition(", step ")
        return cls(run, int(step)) if run and step.isdecimal() else cls(words=value)


@dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    step: int = 0
    seconds: float = 0.0  # training and validation, including earlier sessions
    validating: float = 0.0  # of these, spent on validation
    skipped: int = 0  # updates skipped because of non-finite gradients
    loss: float = 0.0  # running mean of the training loss
    budget: float = 0.0  # minutes to which the schedule was fitted
    scheduled: int = 0  # updates that fit the budget; 0 until measured
    origin: Origin = Origin()  # of the initial weights
    data: str = ""  # fingerprint of the training rows
    held_out: str = ""  # fingerprint of the validation rows
    files: Mapping[str, Any] = field(default_factory=dict)  # identity of the files of both, by side
    validations: tuple[Validation, ...] = ()
    surroundings: Mapping[str, Any] = field(default_factory=dict)

    def last_update(self, training: TrainingConfig) -> int:
        """The number of the schedule's last update."""
        return self.scheduled or training.updates

    def is_out_of_time(self, training: TrainingConfig) -> bool:
        """Whether the time budget was exhausted before a schedule could be fitted to it."""
        return 0 < 60 * training.minutes <= self.seconds and not self.scheduled

    def best(self, monitor: Monitor) -> Validation | None:
        """The best validation; ties by lower loss."""
        ranked = sorted(self.validations, key=lambda each: (-each.value(monitor), each.loss))
        return ranked[0] if ranked else None

    def validations_since_best(self, monitor: Monitor) -> int:
        """The number of validations since the best one."""
        best = self.best(monitor)
        return 0 if best is None else len(self.validations) - 1 - self.validations.index(best)

    def plateau_count(self, monitor: Monitor, patience: int) -> int:
        """The number of plateaus of `patience` validations."""
        falls = waited = 0
        best = -math.inf
        for validation in self.validations:
            waited = 0 if validation.value(monitor) > best else waited + 1
            best = max(best, validation.value(monitor))
            if waited == patience:
                falls, waited = falls + 1, 0
        return falls

    def steps_to_average(self, monitor: Monitor, kind: str, count: int) -> list[int]:
        """Validated steps, except the newest, whose weights are averaged with the newest ones."""
        earlier = list(self.validations)
        if kind == "best":
            earlier.sort(key=lambda each: each.value(monitor))
        several = kind in ("last", "best") and count > 1
        return [each.step for each in earlier[-(count - 1) :]] if several else []

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Progress":
        """The inverse of `as_dict`; RunError if a name or a type does not match."""
        try:
            validations = tuple(Validation(**each) for each in values["validations"])
            origin = Origin.from_plain(values.get("origin", ""))
            progress = cls(**{**values, "validations": validations, "origin": origin})
        except (KeyError, TypeError) as error:
            raise RunError(f"progress.json does not say what it should ({error})") from None
        if not (
            _types_match(progress, Progress())
            and all(_types_match(v, _TEMPLATE) for v in validations)
        ):
            raise RunError(
                "progress.json holds a value of the wrong type", remedy="use another step"
            )
        return progress


_TEMPLATE = Validation(0, 0.0, 0.0)


def _types_match(values: Any, like: Any) -> bool:
    """Whether each field has the type it has in `like`; integers pass for floats."""
    pairs = ((getattr(values, f.name), getattr(like, f.name)) for f in dataclasses.fields(like))
    return all(
        isinstance(value, int | float if isinstance(model, float) else type(model))
        for value, model in pairs
    )


@dataclass(frozen=True)
class Plan:
    """A summary of the training about to begin."""

    run: str
    config: Config
    rows: int
    held_out_rows: int
    parameters: int
    start: int  # completed updates
    notes: tuple[str, ...]  # notes for the user: rows dropped, steps skipped, ...


@dataclass(frozen=True)
class ValidationSample:
    """A validation example with the model's output."""

    source: str
    reference: str
    output: str


class TrainingObserver(Protocol):
    """Callbacks of training, called between updates only."""

    def on_message(self, sentence: str) -> None:
        """A phase begins that may take long, or something unusual happened."""
        ...

    def on_progress(self, phase: str, share: float) -> None:
        """Progress of the announced phase: 0 if unknown, 1 at its end."""
        ...

    def on_warning(self, sentence: str) -> None:
        """The model has a problem; the sentence names a remedy."""
        ...

    def on_start(self, plan: Plan) -> None:
        """The data is ready and training begins."""
        ...

    def on_schedule(self, updates: int, minutes: float) -> None:
        """The time budget was measured to fit this many updates."""
        ...

    def on_update(self, update: "Update") -> None:
        """An update is complete."""
        ...

    def on_validation(
        self, validation: Validation, samples: list[ValidationSample], *, best: bool
    ) -> None:
        """A validation is complete and its step saved."""
        ...

    def on_end(self, sentence: str) -> None:
        """Training has ended, for the given reason."""
        ...


class SilentObserver:
    """An observer that does nothing."""

    def on_message(self, sentence: str) -> None: ...

    def on_progress(self, phase: str, share: float) -> None: ...

    def on_warning(self, sentence: str) -> None: ...

    def on_start(self, plan: Plan) -> None: ...

    def on_schedule(self, updates: int, minutes: float) -> None: ...

    def on_update(self, update: "Update") -> None: ...

    def on_validation(
        self, validation: Validation, samples: list[ValidationSample], *, best: bool
    ) -> None: ...

    def on_end(self, sentence: str) -> None: ...


@contextmanager
def phase(watch: TrainingObserver, name: str) -> Iterator[Callable[[float], None]]:
    """Announce a phase that may take long; yield a function that reports its progress."""
    watch.on_message(name)
    tell = partial(watch.on_progress, name)
    tell(0.0)
    yield tell
    tell(1.0)


NO_UNITS = {"none": "nothing"}  # units of columns without items
SMOOTH = 0.95  # decay of displayed moving averages


class RunningFigures:
    """Moving averages of the loss and the speed for display."""

    def __init__(self) -> None:
        self.loss = self.speed = math.nan

    def add(self, update: "Update") -> None:
        """Add an update."""
        self.loss = _blend(self.loss, update.loss)
        self.speed = _blend(self.speed, update.tokens / update.seconds)

    def __str__(self) -> str:
        return f"loss {self.loss:.3f} · {self.speed:,.0f} tokens/s"


def plan_summary(plan: Plan) -> str:
    """A one-line summary of the training about to begin."""
    config = plan.config
    return (
        f"{plan.rows:,} rows to learn from, {plan.held_out_rows:,} held out · "
        f"{_units(config)} · {_kinds(config)} model of "
        f"{plan.parameters:,} parameters · {config.training.updates:,} updates "
        f"of {config.training.batch_tokens:,} positions"
    )


def _blend(before: float, now: float) -> float:
    return now if math.isnan(before) else SMOOTH * before + (1 - SMOOTH) * now


def _kinds(config: Config) -> str:
    """The kinds of encoder and decoder, named once if equal."""
    kinds = config.model.encoder.kind, config.model.decoder.kind
    return "-to-".join(dict.fromkeys(kind for kind in kinds if kind != "none"))


def _units(config: Config) -> str:
    source, target = _unit(config.source), _unit(config.target)
    return source if source == target else f"{source} to {target}"


def _unit(column: ColumnConfig) -> str:
    """The name of a column's unit."""
    unit: str = getattr(column, "unit", column.kind.rstrip("s"))
    return NO_UNITS.get(column.kind, f"{unit}s")
