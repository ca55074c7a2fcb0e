"""What a run directory holds, as values: configuration, fields, the step to use and its weights."""

from torch import Tensor

from seqloom.config import Config, parse, validate
from seqloom.errors import ConfigError, RunError
from seqloom.fields import Field, load_field
from seqloom.runs.progress import Progress
from seqloom.store import Checkpoint, RunDirectory

__all__ = [
    "best_step",
    "likely_best_step",
    "load_config",
    "load_fields",
    "model_weights",
    "weights_name",
]


def load_config(directory: RunDirectory) -> Config:
    """The configuration of an existing run."""
    place = f"{directory.path / 'config.toml'}"
    try:
        return validate(parse(directory.config_text(), place=place), place=place)
    except ConfigError as error:
        raise RunError(str(error)) from None


def load_fields(directory: RunDirectory, config: Config) -> tuple[Field, Field]:
    """The fields of an existing run; one object where they share a vocabulary."""
    source = load_field(directory.fields_directory / "source")
    if config.model.share_vocabulary and not config.target.keeps_own_field:
        return source, source
    return source, load_field(directory.fields_directory / "target")


def best_step(directory: RunDirectory) -> Checkpoint:
    """The validated step with the best result, or else the newest that verifies."""
    latest = directory.latest_checkpoint()
    if latest is None:
        raise RunError(
            "no step can be read", place=directory.path, remedy="train it first, or again"
        )
    monitor = load_config(directory).training.monitor
    best = Progress.from_dict(latest.progress()).best(monitor)
    wanted = latest.number if best is None else best.step
    if wanted == latest.number:
        return latest
    for step in (each for each in directory.checkpoints() if each.number == wanted):
        try:
            step.verify()
        except RunError:
            continue
        return step
    return latest


def likely_best_step(directory: RunDirectory) -> Checkpoint | None:
    """The same by what the newest step says of them, without a look at any weights."""
    steps = directory.checkpoints()
    if not steps:
        return None
    monitor = load_config(directory).training.monitor
    best = Progress.from_dict(steps[-1].progress()).best(monitor)
    wanted = steps[-1].number if best is None else best.step
    return next((each for each in steps if each.number == wanted), steps[-1])


def weights_name(step: Checkpoint) -> str:
    """The name of the set of weights that a model of this step has."""
    return "average" if "average" in step.names() else "model"


def model_weights(step: Checkpoint) -> dict[str, Tensor]:
    """The weights that a model of this step has: the average where there is one."""
    return step.load(weights_name(step))
