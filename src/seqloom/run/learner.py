"""What one worker holds of a run: model, optimiser, its share of the data, how far it has come."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from seqloom.config import Config
from seqloom.data import Batch, Batches, Corpus
from seqloom.keys import key
from seqloom.model import SequenceModel, Source, build
from seqloom.run.prepare import load_config, load_fields
from seqloom.run.progress import Progress, surroundings
from seqloom.run.weights import load_weights, weights
from seqloom.store import RunDirectory, Skipped
from seqloom.training import (
    Example,
    Optimizer,
    Portion,
    Ranks,
    Update,
    fit,
)

__all__ = ["Learner", "example", "new_network"]


class Learner:
    """Makes updates, from the newest sound step on."""

    def __init__(self, config: Config, network: SequenceModel, corpus: Corpus) -> None:
        self.config = config
        self.network = network
        self.optimizer = Optimizer(network, config.training)
        self.corpus = corpus
        self.batches = Batches(
            corpus.lengths, tokens=config.training.batch_tokens, seed=config.seed
        )
        self.progress = Progress(data=corpus.fingerprint)

    @classmethod
    def open(cls, directory: RunDirectory) -> "Learner":
        """The learner of a run that another process has prepared."""
        config = load_config(directory)
        source, target = load_fields(directory, config)
        network = new_network(config, source.size, target.size)
        learner = cls(config, network, Corpus.open(directory.cache_directory / "train"))
        learner.resume(directory)
        return learner

    def resume(self, directory: RunDirectory) -> list[str]:
        """Take up the newest step that verifies; what a reader should know about that."""
        skipped: list[Skipped] = []
        step = directory.latest(skipped)
        notes = [f"step {each.step} was passed over: {each.why}" for each in skipped]
        if step is None:
            return notes
        load_weights(self.network, step.load("model"), place=str(step.path))
        self.optimizer.restore(step.load("optimizer"))
        self.progress = Progress.from_dict(step.progress())
        self.optimizer.skipped = self.progress.skipped
        return notes

    def updates(self, ranks: Ranks) -> Iterator[Update]:
        """The updates still to make, each with this worker's share of its batch."""
        here = {**surroundings(), "workers": ranks.world}
        self.progress = replace(self.progress, surroundings=here)
        loop = fit(
            self.optimizer,
            lambda step: self._portion(step, ranks),
            seed=self.config.seed,
            start=self.progress.step,
            ranks=ranks,
        )
        earlier, began = self.progress.seconds, time.monotonic()
        for update in loop:
            seconds = earlier + time.monotonic() - began
            skipped = self.optimizer.skipped
            self.progress = replace(
                self.progress, step=update.step, seconds=seconds, skipped=skipped
            )
            yield update

    def files(self) -> dict[str, dict[str, Tensor]]:
        """What a step saves."""
        return {
            "model": weights(self.network),
            "optimizer": self.optimizer.tensors(),
        }

    def _portion(self, step: int, ranks: Ranks) -> Portion:
        count = self.config.training.accumulate
        whole = [self.batches.indices(step * count + number) for number in range(count)]
        tokens = sum(int(self.corpus.lengths.target[rows].sum()) for rows in whole)
        shares = [rows[ranks.rank :: ranks.world] for rows in whole]
        examples = [example(self.corpus.batch(rows)) for rows in shares if len(rows)]
        return Portion(examples, tokens, lambda: self._places(np.concatenate(whole)))

    def _places(self, rows: np.ndarray) -> str:
        places = [self.corpus.place(row) for row in rows[:5].tolist()]
        lines = ", ".join(str(place.line) for place in places)
        return f"{places[0].file}, lines {lines}{', ...' * (len(rows) > len(places))}"


def new_network(config: Config, source_size: int, target_size: int) -> SequenceModel:
    """The run's model with its first weights, a function of the seed."""
    torch.manual_seed(key(config.seed, "weights"))
    return build(config.model, source_size=source_size, target_size=target_size)


def example(batch: Batch) -> Example:
    """A batch as tensors, without copying."""
    source = Source(torch.from_numpy(batch.source), torch.from_numpy(batch.source_lengths))
    return Example(source, torch.from_numpy(batch.target))
