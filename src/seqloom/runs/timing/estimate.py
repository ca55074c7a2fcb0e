"""Estimate the time of training by timing updates and validations on synthetic rows (S6.6).

The rows have the lengths of real ones, in batches as in training.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, inf
from typing import Any

import numpy as np
import torch

from seqloom.config import Config, TrainingConfig
from seqloom.data import Batches, Indices, Lengths, batches_by_length, even_indices
from seqloom.fields import Field
from seqloom.model import Network, Source, build
from seqloom.randomness import key
from seqloom.runs.findings import describe_time
from seqloom.runs.processes.device import threads
from seqloom.runs.processes.workers import worker_count
from seqloom.training import Example, Optimizer, Portion, bound_primitive_cache, fit, measure

__all__ = [
    "SampledRows",
    "TrainingCost",
    "describe_cost",
    "peak_memory",
    "sampled_batches",
    "training_cost",
    "training_estimate",
]

WARM_UPDATES = 3  # untimed updates that allocate memory and select kernels
TIMED_BATCHES = 6  # of different lengths
TIMES = 2  # repetitions of each, if time permits; the fastest counts
PATIENCE = 10.0  # seconds after which no batch is repeated
WRITTEN_ROWS, TOGETHER = 500, 64  # validation rows to decode, and their batch size
STEPS = 4  # timed decoding steps
CALIBRATED_ROWS = 2_000  # validation rows for fitting the temperature

Clock = Callable[[], float]


@dataclass(frozen=True)
class SampledRows:
    """The lengths of sampled rows with end symbols, and the number of validation rows."""

    lengths: Lengths
    held_out: int

    @classmethod
    def alike(cls, source: int, target: int, *, rows: int, held_out: int) -> "SampledRows":
        """Rows of equal length, such as windows."""
        count = max(1, rows)
        return cls(Lengths(np.full(count, source), np.full(count, target)), held_out)


@dataclass(frozen=True)
class TrainingCost:
    """The cost of the parts of training, in seconds, and of the exchange of gradients."""

    update: float
    validation: float
    training: TrainingConfig
    exchanged: int = 0  # bytes of gradients that each of several workers sends

    def minutes(self, updates: int | None = None) -> float:
        """The time of `updates` updates, or of all, with validations; at most the time budget."""
        count = self.training.updates if updates is None else min(updates, self.training.updates)
        validations = ceil(count / self.training.validate_every)
        minutes = (count * self.update + validations * self.validation) / 60
        return min(minutes, self.training.minutes or inf)

    @property
    def soonest(self) -> float:
        """The earliest end in minutes, if early stopping ends training."""
        if not self.training.patience:
            return self.minutes()
        return self.minutes((self.training.patience + 1) * self.training.validate_every)


def training_estimate(config: Config, fields: tuple[Field, Field], rows: SampledRows) -> str:
    """An estimate of time and memory in a sentence."""
    return describe_cost(training_cost(config, fields, rows))


def describe_cost(cost: TrainingCost) -> str:
    """The time of training, the earliest end under early stopping, and its memory."""
    workers, peak = worker_count(cost.training), peak_memory()
    each = None if peak is None else peak + cost.exchanged / 2**30
    memory = "" if each is None else f" and {each * workers:.1f} GiB of memory"
    longest, soonest = describe_time(cost.minutes()), describe_time(cost.soonest)
    early = f", or {soonest} where training.patience ends it," if soonest != longest else ""
    return (
        f"training would take {longest} here{early}{memory}, "
        f"in {workers} process{'es' * (workers > 1)}"
    )


def peak_memory() -> float | None:
    """The peak memory of this process in GiB; None if the system does not report it."""
    try:
        import resource
    except ImportError:
        return None  # Windows
    if sys.platform == "win32":  # narrows the platform for type checkers
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**30 if sys.platform == "darwin" else 2**20)  # bytes on macOS, KiB on Linux


def training_cost(
    config: Config,
    fields: tuple[Field, Field],
    rows: SampledRows,
    *,
    clock: Clock = time.perf_counter,
) -> TrainingCost:
    """Time updates and validations of the configured model.

    An update is that of one worker, on its share of each batch and with its threads, so that this
    process needs the time and the memory of one worker.
    """
    bound_primitive_cache()
    workers = worker_count(config.training)
    random = np.random.default_rng(key(config.seed, "made-up rows"))
    batches = sampled_batches(config, rows.lengths)
    make_up = partial(_made_up, fields, rows.lengths, random=random)
    examples = [make_up(batch) for batch in batches]
    shares = [make_up(batch[::workers]) for batch in batches]
    with torch.random.fork_rng():
        network = build(config.model, source=fields[0].items, target=fields[1].items)
        exchanged = _exchanged(network) if workers > 1 else []
        with threads(1 if workers > 1 else torch.get_num_threads()):
            update = _seconds_per_update(config, network, shares, clock)
            if exchanged:
                update += _seconds_to_exchange(exchanged, clock)
        network.eval()
        with torch.no_grad():
            validation = _seconds_per_validation(config, network, examples, rows, clock)
    return TrainingCost(update, validation, config.training, sum(each.nbytes for each in exchanged))


def sampled_batches(config: Config, lengths: Lengths) -> list[Indices]:
    """Batches of the first pass, spread from the smallest to the largest, in any order."""
    training = config.training
    batches = Batches(
        lengths, tokens=training.batch_tokens, rows=training.batch_rows, seed=config.seed
    )
    every = [batches.indices(step) for step in range(batches.per_epoch(0))]
    every.sort(key=lambda rows: len(rows) * int(lengths.longer[rows].max()))
    count = min(TIMED_BATCHES, len(every))
    places = ((2 * np.arange(count) + 1) * len(every)) // (2 * count)
    order = np.random.default_rng(key(config.seed, "timed batches")).permutation(count)
    return [every[places[number]] for number in order]


def _made_up(
    fields: tuple[Field, Field], lengths: Lengths, rows: Indices, random: np.random.Generator
) -> Example:
    """A synthetic batch of rows of these lengths."""
    sides = []
    for field, each in zip(fields, lengths, strict=True):
        drawn = field.items.draw(len(rows), int(each[rows].max()), random)
        sides.append(torch.from_numpy(drawn))
    padding = np.arange(sides[1].shape[1]) >= lengths.target[rows][:, None]
    empty = float("nan") if sides[1].is_floating_point() else 0
    sides[1][torch.from_numpy(padding)] = empty
    return Example(
        Source(sides[0], torch.from_numpy(lengths.source[rows].astype(np.int64))), sides[1]
    )


def _seconds_per_update(
    config: Config, network: Network, examples: Sequence[Example], clock: Clock
) -> float:
    """The mean time of an update on these batches, each as quick as it was at best."""
    turns = [number % len(examples) for number in range(WARM_UPDATES)]
    turns += [*range(len(examples))] * TIMES
    best: dict[int, float] = {}

    def portion(step: int) -> Portion:
        chosen = examples[turns[step % len(turns)]]
        tokens = int((~_is_padding(chosen.target)).sum())
        work = [chosen] * config.training.accumulate
        return Portion(work, max(1, tokens * len(work)), lambda: "made-up rows")

    began = before = clock()
    loop = fit(Optimizer(network, config.training), portion, seed=config.seed)
    for step, _ in enumerate(loop):
        now = clock()
        if step >= WARM_UPDATES or step == config.training.updates - 1:
            number = turns[step]
            best[number] = min(best.get(number, inf), now - before)
        late = now - began > PATIENCE and len(best) == len(examples)
        if late or step == len(turns) - 1:
            break
        before = clock()
    return float(np.mean([*best.values()]))


def _exchanged(network: Network) -> list[torch.Tensor]:
    """Tensors as large as the gradients that a worker sends."""
    return [each.detach().flatten() for each in network.parameters() if each.requires_grad]


def _seconds_to_exchange(gradients: list[torch.Tensor], clock: Clock) -> float:
    """The time to exchange gradients: joining them, and about as long to send them to another
    process of this machine."""
    best = inf
    for _ in range(1 + TIMES):
        began = clock()
        torch.cat(gradients)
        best = min(best, clock() - began)
    return 2 * best


def _is_padding(target: torch.Tensor) -> torch.Tensor:
    """Where a target has no item."""
    return target.isnan().flatten(2).all(-1) if target.is_floating_point() else target == 0


def _seconds_per_validation(
    config: Config,
    network: Network,
    examples: Sequence[Example],
    rows: SampledRows,
    clock: Clock,
) -> float:
    """The time to measure the held-out rows: their loss, which is measured once more for an average
    of steps, and their outputs."""
    training = config.training
    with_loss = 1 + (training.average in ("last", "best") and training.average_steps > 1)
    places = even_indices(len(rows.lengths.source), rows.held_out)
    held = Lengths(rows.lengths.source[places], rows.lengths.target[places])
    count = len(batches_by_length(held, tokens=training.batch_tokens))
    count = ceil(count * rows.held_out / max(1, len(places)))
    read = float(np.mean([_seconds_to_read(network, each, clock) for each in examples]))
    decoder: Any = network.decoder
    if decoder is None or not config.target.is_text:
        again = 1 + min(1.0, CALIBRATED_ROWS / max(1, rows.held_out))
        return read * count * (with_loss + again)
    return read * count * with_loss + _seconds_to_write(network, examples[0], rows, clock)


def _seconds_to_write(network: Any, example: Example, rows: SampledRows, clock: Clock) -> float:
    """The time to write some held-out rows step by step, each as long as the longest together."""
    written = min(WRITTEN_ROWS, rows.held_out)
    together = min(TOGETHER, written)
    if not written:
        return 0.0
    take = torch.arange(together) % len(example.target)
    source = Source(*(None if each is None else each[take] for each in example.source))
    state = network.decoder.start(network.encoder.encode(source))
    tokens = example.target[take, :1]
    began = clock()
    for _ in range(STEPS):
        features, state = network.decoder.read(tokens, state)
        network.decoder.write(features.hidden).argmax(-1)
    step = (clock() - began) / STEPS
    longest = float(np.quantile(rows.lengths.target, 1 - 1 / (2 * together)))
    return step * longest * ceil(written / together)


def _seconds_to_read(network: Network, example: Example, clock: Clock) -> float:
    """The time to measure the loss of a batch, which is done twice; the quicker counts."""
    best = inf
    for _ in range(TIMES):
        began = clock()
        measure(network, example, smoothing=0.0)
        best = min(best, clock() - began)
    return best
