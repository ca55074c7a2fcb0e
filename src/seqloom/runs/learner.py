"""The training state of each worker: network, optimizer, share of the data, and progress."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from seqloom.config import Config
from seqloom.data import Batch, Batches, Corpus, Indices, Masking
from seqloom.fields import EMPTY, Field
from seqloom.model import Network, Source, build
from seqloom.model.networks import load_weights, weights
from seqloom.randomness import key
from seqloom.runs.pretrained import freeze_pretrained
from seqloom.runs.processes.device import learning_device, surroundings
from seqloom.runs.progress import Progress
from seqloom.runs.streams import Stream
from seqloom.runs.teaching import TaughtPositions
from seqloom.runs.timing.time_budget import budget_scale, fit_schedule
from seqloom.store import RunDirectory, SkippedCheckpoint
from seqloom.training import (
    Example,
    ForcingSchedule,
    MovingAverage,
    Optimizer,
    Portion,
    PositionWeights,
    Ranks,
    ScheduledSampling,
    SoftTargets,
    Update,
    bound_primitive_cache,
    fit,
    freeze,
)

__all__ = ["Learner", "example", "new_network"]

SMOOTH = 0.95  # decay of the moving average of the loss


class Learner:
    """Performs updates, starting from the newest valid checkpoint."""

    def __init__(
        self, config: Config, network: Network, corpus: Corpus, masking: Masking | None = None
    ) -> None:
        self.config = config
        self.device = learning_device(config.training)
        self.network = network.to(self.device)
        self.corpus = corpus
        self.masking = masking  # masks source tokens to predict
        self.notes: list[str] = []
        if config.training.freeze:
            self.notes += freeze(network, config.training.freeze)
        if config.model.frozen_vectors:
            self.notes += freeze_pretrained(network, config.model)
        bound_primitive_cache()
        self.optimizer = Optimizer(network, config.training, rows=len(corpus))
        self.moving: MovingAverage | None = None
        if config.training.average == "moving":
            self.moving = MovingAverage(network, config.training.average_decay)
        self.batches = Batches(
            corpus.lengths,
            tokens=config.training.batch_tokens,
            rows=config.training.batch_rows,
            seed=config.seed,
            mixture=corpus.mixture,
        )
        self.weighing = PositionWeights(
            corpus.lengths.target,
            corpus.weights,
            loss=config.training.loss,
            one_position=config.training.one_position,
            seed=config.seed,
            frequencies=None if corpus.mixture is None else corpus.mixture.row_frequencies,
        )
        self.forcing: ForcingSchedule | None = None  # None with pure teacher forcing
        if config.training.forcing.free_running is not None:
            self.forcing = ForcingSchedule(config.training, seed=config.seed)
        self.taught: TaughtPositions | None = None  # the teachers' distributions by position
        self.stream: Stream | None = None
        if config.data.lines == "stream":
            self.stream = Stream(corpus, network, config, device=self.device)
        self.progress = Progress(data=corpus.fingerprint)
        self._began = time.monotonic()  # now, less the seconds of earlier sessions

    def resume(self, directory: RunDirectory) -> list[str]:
        """Load the newest valid checkpoint; return notes for the user."""
        skipped: list[SkippedCheckpoint] = []
        step = directory.latest_checkpoint(skipped)
        if self.config.training.teaching.runs:
            self.taught = TaughtPositions(directory, self.config, self.corpus)
        notes = [f"step {each.step} was passed over: {each.why}" for each in skipped]
        if step is None:
            return [*self.notes, *notes]
        self.begin(step.load("model"), place=str(step.path))
        self.optimizer.restore(step.load("optimizer"))
        if self.moving is not None and "average" in step.names():
            self.moving.restore(step.load("average"))
        if self.stream is not None and "carried" in step.names():
            note = self.stream.restore(step.load("carried"))
            notes += [note] if note else []
        self.progress = Progress.from_dict(step.progress())
        self.optimizer.skipped = self.progress.skipped
        return [*self.notes, *notes]

    def begin(self, tensors: Mapping[str, Tensor], *, place: str) -> None:
        """Start from these weights, which also initialize the moving average."""
        load_weights(self.network, tensors, place=place)
        if self.moving is not None:
            self.moving.restore(tensors)

    def updates(self, ranks: Ranks) -> Iterator[Update]:
        """Yield the remaining updates, each with this worker's share of its batch."""
        here = surroundings(self.config.training, ranks.world)
        self.progress = replace(self.progress, surroundings=here)
        self.moving = None if ranks.rank else self.moving
        self.optimizer.scale = self._scale()
        loop = fit(
            self.optimizer,
            lambda step: self._portion(step, ranks),
            seed=self.config.seed,
            start=self.progress.step,
            ranks=ranks,
        )
        self._began = time.monotonic() - self.progress.seconds
        for update in loop:
            if self.moving is not None and not update.skipped:
                self.moving.update(update.step)
            self.progress = replace(
                self.progress,
                step=update.step,
                seconds=time.monotonic() - self._began,
                skipped=self.optimizer.skipped,
                loss=self._mean_loss(update),
            )
            if self.config.training.minutes or self.progress.budget:
                self.progress = fit_schedule(self.config.training, self.progress)
            if self.stream is not None and not update.skipped:
                self.stream.synchronize(ranks)
            yield update
            self.optimizer.scale = self._scale()

    def count_validation(self) -> None:
        """Count the time since the last update as validation."""
        now, before = time.monotonic() - self._began, self.progress
        spent = before.validating + max(0.0, now - before.seconds)
        self.progress = replace(before, seconds=max(now, before.seconds), validating=spent)

    def files(self) -> dict[str, dict[str, Tensor]]:
        """The files of a saved step, independent of the device."""
        files = {"model": weights(self.network), "optimizer": self.optimizer.tensors()}
        if self.moving is not None:
            files["average"] = self.moving.tensors()
        if self.stream is not None and (carried := self.stream.tensors()):
            files["carried"] = carried
        return {
            file: {name: value.cpu() for name, value in tensors.items()}
            for file, tensors in files.items()
        }

    def _scale(self) -> float:
        """The factor of the learning rate by the time budget and by plateaus of validation
        results.
        """
        training = self.config.training
        scale = budget_scale(training, self.progress) if self.progress.scheduled else 1.0
        if training.decay != "plateau":
            return scale
        falls = self.progress.plateau_count(training.monitor, training.plateau_patience)
        return scale * float(training.plateau_factor**falls)

    def _mean_loss(self, update: Update) -> float:
        if update.skipped:
            return self.progress.loss
        before = self.progress.loss if self.progress.step else update.loss
        return SMOOTH * before + (1 - SMOOTH) * update.loss

    def _portion(self, step: int, ranks: Ranks) -> Portion:
        if self.stream is not None:
            return self.stream.portion(step, ranks)
        count = self.config.training.accumulate
        whole = [self.batches.indices(step * count + number) for number in range(count)]
        share = slice(ranks.rank, None, ranks.world)
        shared, tokens = self._split_batches(step, whole, share)
        all_factors = self.weighing.factors(step, whole)
        examples = [
            example(
                batch,
                None if factors is None else factors[share],
                freedom=None
                if self.forcing is None
                else self.forcing.for_batch(step, number, torch.arange(len(rows))[share]),
                device=self.device,
            )._replace(soft=self._soft(rows[share], batch))
            for number, (rows, batch, factors) in enumerate(
                zip(whole, shared, all_factors, strict=True)
            )
            if len(rows[share])
        ]
        return Portion(examples, tokens, lambda: self._places(np.concatenate(whole)))

    def _soft(self, rows: Indices, batch: Batch) -> SoftTargets | None:
        if self.taught is None:
            return None
        found = self.taught.batch(rows, batch.target.shape[1])
        symbols, probabilities = (each.to(self.device) for each in found[:2])
        return found._replace(symbols=symbols, probabilities=probabilities)

    def _split_batches(
        self, step: int, whole: list[Indices], share: slice
    ) -> tuple[list[Batch], int]:
        """This worker's rows of each batch, and the number of target items in all rows together."""
        if self.masking is None:
            tokens = sum(int(self.corpus.lengths.target[rows].sum()) for rows in whole)
            return [self.corpus.batch(rows[share]) for rows in whole], tokens
        masked = [self.masking.mask(self.corpus.batch(rows), step) for rows in whole]
        asked = sum(int((batch.target != EMPTY).sum()) for batch in masked)
        return [batch.part(share) for batch in masked], max(1, asked)

    def _places(self, rows: np.ndarray) -> str:
        places = [self.corpus.place(row) for row in rows[:5].tolist()]
        lines = ", ".join(str(place.line) for place in places)
        return f"{places[0].file}, lines {lines}{', ...' * (len(rows) > len(places))}"


def new_network(config: Config, source: Field, target: Field) -> Network:
    """The run's model with initial weights, a function of the seed."""
    torch.manual_seed(key(config.seed, "weights"))
    return build(config.model, source=source.items, target=target.items)


def example(
    batch: Batch,
    factors: Tensor | None = None,
    *,
    freedom: ScheduledSampling | None = None,
    device: torch.device | None = None,
) -> Example:
    """A batch as tensors, copied only to another device; factors may have more steps than its
    targets.
    """
    tokens, lengths, target = (
        torch.from_numpy(each).to(device)
        for each in (batch.source, batch.source_lengths, batch.target)
    )
    counts = None if factors is None else factors[:, : target.shape[1]].to(device)
    return Example(Source(tokens, lengths), target, counts, freedom)
