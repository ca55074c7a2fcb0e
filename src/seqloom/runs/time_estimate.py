"""How long training would take here: a few updates are timed, and validations reckoned with."""

import resource

import numpy as np
import torch

from seqloom.config import Config
from seqloom.fields import Field, Items, Numbers, Pixels, Symbols
from seqloom.model import Source, build
from seqloom.runs.findings import describe_time
from seqloom.runs.processes.workers import worker_count
from seqloom.training import Example, Optimizer, Portion, fit

__all__ = ["training_estimate"]

TIMED_UPDATES = 6  # updates that are timed, ...
WARM_UPDATES = 2  # ... of which the first do not count
VALIDATION_COST = 2 / 3  # of an update, for as many rows: read twice, without a way back


def training_estimate(
    config: Config, fields: tuple[Field, Field], lengths: tuple[int, int], *, held_out: int
) -> str:
    """Time and memory in a sentence, for rows of these lengths and so many that are held out; the
    budget of time is the most."""
    training = config.training
    update = _seconds_per_update(config, fields, lengths)
    validation = VALIDATION_COST * update * held_out / _batch_rows(config, lengths)
    minutes = training.updates * (update + validation / training.validate_every) / 60
    minutes = min(minutes, training.minutes or minutes)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    workers = worker_count(training)
    return (
        f"training would take {describe_time(minutes)} here and {memory * workers:.1f} GiB of "
        f"memory, in {workers} process{'es' * (workers > 1)}"
    )


def _batch_rows(config: Config, lengths: tuple[int, int]) -> int:
    """About how many rows a batch has."""
    rows = max(1, config.training.batch_tokens // max(lengths))
    return min(rows, config.training.batch_rows or rows)


def _seconds_per_update(
    config: Config, fields: tuple[Field, Field], lengths: tuple[int, int]
) -> float:
    """The time of one update on made-up rows of the mean length; workers share the positions."""
    source, target = lengths
    rows = _batch_rows(config, lengths)
    with torch.random.fork_rng():
        network = build(config.model, source=fields[0].items, target=fields[1].items)
        batch = Example(
            Source(_random_items(fields[0].items, rows, source), torch.full((rows,), source)),
            _random_items(fields[1].items, rows, target),
        )
        work = Portion([batch] * config.training.accumulate, rows * target, lambda: "made-up rows")
        updates = fit(Optimizer(network, config.training), lambda _: work, seed=config.seed)
        timed = [update.seconds for update, _ in zip(updates, range(TIMED_UPDATES), strict=False)]
        return float(np.median(timed[min(WARM_UPDATES, len(timed) - 1) :]))


def _random_items(items: Items, rows: int, length: int) -> torch.Tensor:
    """Random items, none of which is padding."""
    match items:
        case Symbols(count, 0):
            return torch.randint(1, count, (rows, length))
        case Symbols(count, spelling, letters):
            most = min(count, letters)
            return torch.randint(1, most, (rows, length, 1 + spelling))
        case Numbers(count):
            return torch.randn(rows, length, count)
        case Pixels() as pixels:
            return torch.randint(256, (rows, length, pixels.count), dtype=torch.uint8)
