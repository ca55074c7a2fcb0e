"""The contents of a run directory: configuration, fields, the step to use and its weights."""

from typing import TYPE_CHECKING, NamedTuple

from seqloom.config import Config, parse, validate
from seqloom.errors import ConfigError, RunError
from seqloom.fields import Field, load_field
from seqloom.runs.progress import Progress, Validation
from seqloom.store import Checkpoint, RunDirectory, SkippedCheckpoint, step_name

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "StepChoice",
    "StepNote",
    "best_step",
    "best_validation",
    "choose_step",
    "copying_helps",
    "likely_best_step",
    "load_config",
    "load_fields",
    "model_weights",
    "step_validation",
    "weights_name",
]


def load_config(directory: RunDirectory) -> Config:
    """The configuration of an existing run."""
    place = f"{directory.path / 'config.toml'}"
    try:
        tables = parse(directory.config_text(), place=place)
        missing = [name for name in TABLES if name not in tables]
        if missing:
            raise ConfigError(
                f"the table {missing[0]} is missing", place=place, remedy="restore the file"
            )
        return validate(tables, place=place)
    except ConfigError as error:
        raise RunError(error.problem, place=error.place, remedy=error.remedy) from None


def load_fields(directory: RunDirectory, config: Config) -> tuple[Field, Field]:
    """The fields of an existing run; two views of one if they share a vocabulary."""
    source = load_field(directory.fields_directory / "source")
    if config.model.share_vocabulary and not config.target.keeps_own_field:
        return source, source.as_target
    return source, load_field(directory.fields_directory / "target")


TABLES = ("source", "target", "model", "training")  # tables in the configuration of every run


class StepNote(NamedTuple):
    """A note on an unusable step, with the step used instead; `why` has paths."""

    sentence: str
    why: str

    def __str__(self) -> str:
        return f"{self.sentence} ({self.why})"


class StepChoice(NamedTuple):
    """The step to use, and notes on unusable ones."""

    step: Checkpoint
    notes: tuple[StepNote, ...] = ()


def best_step(directory: RunDirectory) -> Checkpoint:
    """The validated step with the best result, or else the newest valid one."""
    return choose_step(directory).step


def choose_step(directory: RunDirectory) -> StepChoice:
    """The best step, with notes on unusable ones."""
    skipped: list[SkippedCheckpoint] = []
    latest = directory.latest_checkpoint(skipped)
    if latest is None:
        if skipped:
            raise RunError(f"no step can be read: {skipped[0].why}", place=directory.path)
        raise RunError(
            "no step can be read", place=directory.path, remedy="train it first, or again"
        )
    monitor = load_config(directory).training.monitor
    best = Progress.from_dict(latest.progress()).best(monitor)
    wanted = latest.number if best is None else best.step
    step, lost = latest, [(f"step {each.step}", each.why) for each in skipped]
    if wanted != latest.number:
        best_one = Checkpoint(wanted, directory.path / step_name(wanted))
        try:
            best_one.verify()
            step = best_one
        except RunError as error:
            lost.append((f"step {wanted}, the best,", str(error)))
    instead = f"cannot be used, so step {step.number} is used in its place"
    return StepChoice(step, tuple(StepNote(f"{name} {instead}", why) for name, why in lost))


def likely_best_step(directory: RunDirectory) -> Checkpoint | None:
    """The best step as recorded by the newest readable step, without reading weights."""
    steps, found = directory.checkpoints(), _newest_progress(directory)
    if found is None:
        return None
    newest, best = found
    wanted = newest.number if best is None else best.step
    return next((each for each in steps if each.number == wanted), newest)


def best_validation(directory: RunDirectory) -> Validation | None:
    """The best validation as recorded by the newest readable step."""
    found = _newest_progress(directory)
    return None if found is None else found[1]


def copying_helps(directory: RunDirectory) -> bool:
    """Whether the best validation copies unknown words from the source."""
    measured = best_validation(directory)
    return measured is not None and measured.copies


def _newest_progress(directory: RunDirectory) -> tuple[Checkpoint, Validation | None] | None:
    """The newest readable step and the best validation recorded in it."""
    monitor = load_config(directory).training.monitor
    for newest in reversed(directory.checkpoints()):
        try:
            return newest, Progress.from_dict(newest.progress()).best(monitor)
        except RunError:
            continue
    return None


def step_validation(step: Checkpoint) -> Validation | None:
    """The validation of a step; None if it was saved without one."""
    found = Progress.from_dict(step.progress()).validations
    return next((each for each in found if each.step == step.number), None)


def weights_name(step: Checkpoint) -> str:
    """The name of the weights of a step for prediction."""
    return "average" if "average" in step.names() else "model"


def model_weights(step: Checkpoint) -> "dict[str, Tensor]":
    """The weights of a step for prediction: the average if there is one."""
    return step.load(weights_name(step))
