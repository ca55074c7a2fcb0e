"""Validation: results of weights on held-out rows, baselines, and diagnosis of failed training
(S6.6).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from seqloom.baselines.labels import TrainingRows, baselines
from seqloom.data import Corpus, CorpusPass, batches_by_length, even_indices
from seqloom.fields import EMPTY, Values
from seqloom.metrics import Score
from seqloom.model.networks import load_weights
from seqloom.prediction import Predictor, TextPredictor
from seqloom.runs.learner import example
from seqloom.runs.prepare import PreparedData
from seqloom.runs.progress import Progress, Validation, ValidationSample
from seqloom.training import FREE_RUNNING, ScheduledSampling, measure

__all__ = [
    "AnyPredictor",
    "Diagnosis",
    "HeldOut",
    "HeldOutOutputs",
    "Measurement",
    "diagnose",
    "exposure_gap",
    "number_guess_loss",
    "quantile_guess_loss",
    "symbol_guess_loss",
]

AnyPredictor = TypeVar("AnyPredictor", bound=Predictor)


@dataclass(frozen=True)
class Measurement:
    """The validation loss of some weights, and their scores."""

    loss: float  # per item of the target
    scores: tuple[Score, ...] = ()  # the main one first


class HeldOut(Generic[AnyPredictor]):
    """Evaluates weights on validation rows, in its own network."""

    def __init__(self, prepared: PreparedData, model: AnyPredictor) -> None:
        self.rows = prepared.valid
        self.training = prepared.config.training
        self.model = model
        model.network.eval()
        is_symbol = model.target.items.symbols is not None
        self._unseen = int((self.rows.targets == EMPTY).sum()) if is_symbol else 0

    def set_weights(self, tensors: Mapping[str, Tensor]) -> None:
        """Load these weights for evaluation."""
        load_weights(self.model.network, tensors, place="held-out rows")

    def measure(self, tensors: Mapping[str, Tensor]) -> Measurement:
        """Evaluate these weights."""
        self.set_weights(tensors)
        return Measurement(self.row_loss())

    def row_loss(self, freedom: ScheduledSampling | None = None) -> float:
        """The loss of the loaded weights per target item, without unseen labels."""
        negative = 0.0
        for rows in batches_by_length(self.rows.lengths, tokens=self.training.batch_tokens):
            batch = example(self.rows.batch(rows), freedom=freedom)
            negative += measure(self.model.network, batch, smoothing=0.0).negative_log_probability
        return negative / max(1, int(self.rows.lengths.target.sum()) - self._unseen)

    def samples(self) -> list[ValidationSample]:
        """Evenly spaced rows with the model's outputs, for tasks that display them."""
        return []

    def baseline_scores(self, train: Corpus) -> dict[str, tuple[Score, ...]]:
        """The scores of baselines learnt from the training rows, on the validation rows."""
        return {}

    def draw(self, directory: Path) -> None:
        """Draw validation results into a run directory, for tasks with pictures."""

    def validation(
        self, progress: Progress, measured: Measurement, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The validation of the newest step; its metric is the first score, or else the loss."""
        leading = measured.scores[0] if measured.scores else None
        return Validation(
            step=progress.step,
            loss=measured.loss,
            metric=-measured.loss if leading is None else leading.objective,
            scores={each.name: each.value for each in measured.scores},
            interval={} if leading is None else leading.interval.as_dict(),
            training=progress.loss,
        )


CHUNK_SIZE = 1 << 20  # symbols counted at a time
DIVERGENCE = (
    1.3,
    0.3,
)  # the training loss has diverged if it exceeds its minimum by this factor and summand


@dataclass(frozen=True)
class Diagnosis:
    """A named failure of training, and a sentence with a remedy."""

    name: str
    sentence: str


def diagnose(validations: Sequence[Validation], guessing: float) -> Diagnosis | None:
    """Diagnose the gravest failure from a run's results, if any.

    `guessing` is the validation loss of a model that ignores its source.
    """
    newest = validations[-1]
    trained = [each for each in validations if each.step] or validations
    lowest = min(trained, key=lambda each: each.training)
    if newest.training > DIVERGENCE[0] * lowest.training + DIVERGENCE[1]:
        return Diagnosis(
            "diverged",
            f"the training loss rose from {lowest.training:.2f} at update {lowest.step:,} to "
            f"{newest.training:.2f}: training diverges; lower training.rate, lengthen "
            "training.warmup, or lower training.clip_norm",
        )
    if newest.outputs == 1:
        return Diagnosis(
            "same output",
            "the model gives the same output to every input: it does not use its source; train "
            "longer (training.updates), try another training.rate, and check that source and "
            "target belong together",
        )
    best = min(each.loss for each in validations)
    if best >= guessing:
        return Diagnosis(
            "no better than guessing",
            f"the held-out loss of {best:.2f} is no better than {guessing:.2f}, that of a "
            "model that ignores its source; train longer (training.updates), raise training.rate, "
            "or give more rows",
        )
    return None


def symbol_guess_loss(train: Corpus, valid: Corpus, count: int) -> float:
    """The validation loss per symbol, in nats, of predicting the frequencies of `count` symbols in
    the training targets of a pass.
    """
    parts = (often * _count_symbols(part, count) for part, often in train.target_parts())
    learnt, asked = sum(parts, np.ones(count)), _count_symbols(valid.targets, count)
    asked[EMPTY] = 0.0  # unseen labels
    return float(-(asked * np.log(learnt / learnt.sum())).sum() / max(1.0, asked.sum()))


def number_guess_loss(train: Corpus, valid: Corpus) -> float:
    """The squared error per validation row of predicting the mean of a pass's training targets."""
    parts = [(part, often) for part, often in train.target_parts() if often]
    means = [part.mean(axis=0) for part, _ in parts]
    mean = np.average(means, axis=0, weights=[often * len(part) for part, often in parts])
    return float(np.square(valid.targets - mean).sum(axis=1).mean())


def quantile_guess_loss(train: Corpus, valid: Corpus, quantiles: Sequence[float]) -> float:
    """The loss of always predicting the mean and quantiles of the training targets."""
    learnt, asked = train.targets, valid.targets
    loss = np.square(asked - learnt.mean(axis=0))
    for share in quantiles:
        off = asked - np.quantile(learnt, share, axis=0)
        loss = loss + np.maximum(share * off, (share - 1) * off)
    return float(loss.mean())


def _count_symbols(symbols: NDArray[np.integer], kinds: int) -> NDArray[np.float64]:
    """Count symbols in chunks, since counting converts them to a wider type."""
    found = np.zeros(kinds)
    for start in range(0, len(symbols), CHUNK_SIZE):
        found += np.bincount(symbols[start : start + CHUNK_SIZE], minlength=kinds)
    return found


COMPARED_ROWS = 20_000  # validation rows on which baselines are compared
INTERVAL_ROWS = 2_000  # validation rows for scores with intervals, which take time


class HeldOutOutputs(HeldOut[AnyPredictor]):
    """Evaluates weights by their outputs for validation rows, with the metrics of a task."""

    def __init__(
        self,
        prepared: PreparedData,
        model: AnyPredictor,
        metrics: Callable[..., list[Score]],
        *,
        most: int | None = None,
    ) -> None:
        super().__init__(prepared, model)
        self._metrics = metrics
        self._most = len(self.rows) if most is None else most

    def samples(self) -> list[ValidationSample]:
        """Evenly spaced rows with their outputs."""
        model, (sources, targets) = self.model, self._measured_rows()
        outputs = model.predict_rows(sources)
        return [
            ValidationSample(model.source.cell(source), model.target.cell(target), output.text)
            for source, target, output in zip(sources, targets, outputs, strict=True)
        ]

    def _measured_rows(self) -> tuple[list[Values], list[Values]]:
        """The sources and targets for which outputs are scored."""
        batch = self.rows.batch(even_indices(len(self.rows), self._most))
        sources = [row[:n] for row, n in zip(batch.source, batch.source_lengths, strict=True)]
        targets = [row[:n] for row, n in zip(batch.target, batch.target_lengths, strict=True)]
        return sources, targets

    def baseline_scores(self, train: Corpus) -> dict[str, tuple[Score, ...]]:
        """The scores of cheap baselines on the same rows; empty if the training data is too
        large.
        """
        if min(len(self.rows), self._most) > COMPARED_ROWS:
            return {}
        sources, targets = self._measured_rows()
        known = TrainingRows(CorpusPass(train), self.model.source, self.model.target)
        references = [self.model.target.cell(target) for target in targets]
        return {
            name: tuple(self._metrics(outputs, references, seed=None))
            for name, outputs in baselines(known, sources, only_cheap=True).items()
        }

    def validation(
        self, progress: Progress, measured: Measurement, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The validation of the newest step, the main score first."""
        outputs = [each.output for each in samples]
        references = [each.reference for each in samples]
        seed = 1 if len(samples) <= INTERVAL_ROWS else None
        scores = self._metrics(outputs, references, seed=seed)
        found = replace(measured, scores=tuple(scores))
        several = len(set(references)) > 1
        return replace(
            super().validation(progress, found, samples),
            outputs=len(set(outputs)) if several else 0,
        )


def exposure_gap(held_out: HeldOut[TextPredictor], loss: float) -> float:
    """Exposure gap: the increase of the validation loss when each step reads the model's own output
    (S6.3); 0 for a decoder without feedback.
    """
    if held_out.model.network.feedback is None:
        return 0.0
    return held_out.row_loss(FREE_RUNNING) - loss
