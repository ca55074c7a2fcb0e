"""The progress of a run (progress.json), and the events that training observers receive."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    "plan_summary",
]

Monitor = Literal["loss", "metric"]


@dataclass(frozen=True)
class Validation:
    """Held-out results after `step` updates."""

    step: int
    loss: float  # per item of the target, without smoothing: nats, or a squared error
    metric: float  # what the target's kind is judged by; larger is better
    scores: Mapping[str, float] = field(default_factory=dict)  # by their names, that one first
    interval: Mapping[str, float] = field(default_factory=dict)  # low and high of that one, 95 %
    training: float = 0.0  # running mean of the training loss
    outputs: int = 0  # different ones among those written out; 0 where one would be right
    temperature: float = 1.0  # that scores of labels are divided by, so that confidences fit
    copies: bool = False  # whether unknown words are better copied from the source
    gap: float = 0.0  # exposure: what the loss is more where the model reads its own outputs

    def value(self, monitor: Monitor) -> float:
        """The monitored value; larger is better."""
        return -self.loss if monitor == "loss" else self.metric

    def reaches(self, target: float, monitor: Monitor) -> bool:
        """Whether it is as good as the target; 0 is none."""
        return target > 0 and self.value(monitor) >= (-target if monitor == "loss" else target)


@dataclass(frozen=True)
class Origin:
    """What a run began from: another run at a step, or files of weights, told in words."""

    run: str = ""  # empty where it was not a run
    step: int = 0
    words: str = ""
    validated: bool = False  # whether it is a model already, which held-out rows may prefer

    def __str__(self) -> str:
        return f"{self.run}, step {self.step}" if self.run else self.words

    def __bool__(self) -> bool:
        return bool(self.run or self.words)

    @classmethod
    def from_plain(cls, value: str | Mapping[str, Any]) -> "Origin":
        """The inverse of `asdict`; runs of 0.1.0 have the words alone."""
        if not isinstance(value, str):
            return cls(**value)
        run, _, step = value.rpartition(", step ")
        return cls(run, int(step)) if run and step.isdecimal() else cls(words=value)


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    step: int = 0
    seconds: float = 0.0  # of training and validating, resumptions included
    validating: float = 0.0  # seconds of that which validations took
    skipped: int = 0  # updates left out because their gradient was not finite
    loss: float = 0.0  # running mean of the training loss
    budget: float = 0.0  # minutes that the schedule was fitted to
    scheduled: int = 0  # updates that fit into them; 0 before that is measured
    origin: Origin = Origin()  # what it began from
    data: str = ""  # fingerprint of the rows learnt from
    held_out: str = ""  # and of those that results are measured on
    files: Mapping[str, Any] = field(default_factory=dict)  # what both were read from, by side
    validations: tuple[Validation, ...] = ()
    surroundings: Mapping[str, Any] = field(default_factory=dict)

    def last_update(self, training: TrainingConfig) -> int:
        """The number of the update at which the schedule ends."""
        return self.scheduled or training.updates

    def is_out_of_time(self, training: TrainingConfig) -> bool:
        """Whether the time budget is used up before a schedule could be fitted to it."""
        return 0 < 60 * training.minutes <= self.seconds and not self.scheduled

    def best(self, monitor: Monitor) -> Validation | None:
        """The validation to use; among equals the one with the lower loss."""
        ranked = sorted(self.validations, key=lambda each: (-each.value(monitor), each.loss))
        return ranked[0] if ranked else None

    def validations_since_best(self, monitor: Monitor) -> int:
        """Validations since the best one."""
        best = self.best(monitor)
        return 0 if best is None else len(self.validations) - 1 - self.validations.index(best)

    def plateau_count(self, monitor: Monitor, patience: int) -> int:
        """How often the results have stayed on a plateau for so many validations."""
        falls = waited = 0
        best = -math.inf
        for validation in self.validations:
            waited = 0 if validation.value(monitor) > best else waited + 1
            best = max(best, validation.value(monitor))
            if waited == patience:
                falls, waited = falls + 1, 0
        return falls

    def steps_to_average(self, monitor: Monitor, kind: str, count: int) -> list[int]:
        """Validated steps, the newest apart, whose weights are averaged with the newest ones."""
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
        """The inverse of `as_dict`; RunError where a name or a type is not what it was."""
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
    """Whether each field has the type it has in `like`; a whole number will do for a fraction."""
    pairs = ((getattr(values, f.name), getattr(like, f.name)) for f in dataclasses.fields(like))
    return all(
        isinstance(value, int | float if isinstance(model, float) else type(model))
        for value, model in pairs
    )


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

    def on_progress(self, phase: str, share: float) -> None:
        """So much of what was announced is done; 0 where that is not known."""
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

    def on_update(self, update: "Update") -> None:
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

    def on_progress(self, phase: str, share: float) -> None: ...

    def on_warning(self, sentence: str) -> None: ...

    def on_start(self, plan: Plan) -> None: ...

    def on_schedule(self, updates: int, minutes: float) -> None: ...

    def on_update(self, update: "Update") -> None: ...

    def on_validation(
        self, validation: Validation, samples: list[ValidationSample], *, best: bool
    ) -> None: ...

    def on_end(self, sentence: str) -> None: ...


NO_UNITS = {"none": "nothing"}  # columns that are made of nothing
SMOOTH = 0.95  # of what was shown before, in the running figures


class RunningFigures:
    """The loss and the speed of the newest updates, smoothed."""

    def __init__(self) -> None:
        self.loss = self.speed = math.nan

    def add(self, update: "Update") -> None:
        """Take one more update into account."""
        self.loss = _blend(self.loss, update.loss)
        self.speed = _blend(self.speed, update.tokens / update.seconds)

    def __str__(self) -> str:
        return f"loss {self.loss:.3f} · {self.speed:,.0f} tokens/s"


def plan_summary(plan: Plan) -> str:
    """What is about to be trained, in a line."""
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
