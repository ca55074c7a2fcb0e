"""Held-out rows, and what some weights make of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from seqloom.data import batches_by_length, even_indices
from seqloom.fields import NoField, TextField
from seqloom.metrics import target_scores
from seqloom.model import Network, SequenceModel
from seqloom.runs.learner import example
from seqloom.runs.observer import ValidationSample
from seqloom.runs.predictor import predictor
from seqloom.runs.prepare import PreparedData
from seqloom.runs.progress import Progress, Validation
from seqloom.runs.streams import STEPS, chunks
from seqloom.runs.weights import load_weights
from seqloom.training import FREE_RUNNING, ScheduledSampling, measure, measure_stream

__all__ = ["HeldOut"]

SAMPLED_ROWS = 500  # rows that are written out at a validation
STREAM_ROWS = 16  # of a held-out stream, read side by side


class HeldOut:
    """Measures weights on the held-out rows, in a network of its own."""

    def __init__(self, prepared: PreparedData, network: Network) -> None:
        self.rows = prepared.valid
        self._training = prepared.config.training
        self._tokens = self._training.batch_tokens
        self._stream = prepared.config.data.lines == "stream"
        self.model = predictor(prepared.config, prepared.source, prepared.target, network.eval())

    def set_weights(self, tensors: Mapping[str, Tensor]) -> None:
        """Use these weights from now on."""
        load_weights(self.model.network, tensors, place="held-out rows")

    def loss(self, tensors: Mapping[str, Tensor]) -> float:
        """The loss per item of the target of these weights, which are then in use."""
        self.set_weights(tensors)
        network = self.model.network
        if self._stream and isinstance(network, SequenceModel):
            steps = self._training.truncate or STEPS
            return measure_stream(network, chunks(self.rows, lanes=STREAM_ROWS, steps=steps))
        return self._loss(None)

    def exposure_gap(self, loss: float) -> float:
        """What the loss of the weights in use is more where no step reads the label (S6.3)."""
        network = self.model.network
        free = isinstance(network, SequenceModel) and network.feedback is not None
        return self._loss(FREE_RUNNING) - loss if free and not self._stream else 0.0

    def _loss(self, freedom: ScheduledSampling | None) -> float:
        negative = 0.0
        for rows in batches_by_length(self.rows.lengths, tokens=self._tokens):
            batch = example(self.rows.batch(rows), freedom=freedom)
            negative += measure(self.model.network, batch, smoothing=0.0).negative_log_probability
        return negative / int(self.rows.lengths.target.sum())

    def samples(self) -> list[ValidationSample]:
        """Rows spread over all of them, and what the model makes of each; none without a source,
        where all outputs would be the same."""
        rows, model = self.rows, self.model
        if isinstance(model.source, NoField):
            return []
        most = SAMPLED_ROWS if isinstance(model.target, TextField) else len(rows)
        batch = rows.batch(even_indices(len(rows), most))
        sources = [row[:n] for row, n in zip(batch.source, batch.source_lengths, strict=True)]
        targets = [row[:n] for row, n in zip(batch.target, batch.target_lengths, strict=True)]
        outputs = model.predict_rows(sources)
        return [
            ValidationSample(model.source.cell(source), model.target.cell(target), output.text)
            for source, target, output in zip(sources, targets, outputs, strict=True)
        ]

    def draw(self, directory: Path) -> None:
        """Put pictures of what the model makes of the rows beside a run, where there are any."""

    def validation(
        self, progress: Progress, loss: float, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The results of the newest step."""
        outputs = [each.output for each in samples]
        references = [each.reference for each in samples]
        kind = self.model.target.config.kind
        scores = target_scores(kind, outputs, references, seed=None) if samples else []
        return Validation(
            step=progress.step,
            loss=loss,
            metric=scores[0].objective if scores else -loss,
            scores={each.name: each.value for each in scores},
            training=progress.loss,
            gap=self.exposure_gap(loss),
            outputs=len(set(outputs)) if len(set(references)) > 1 else 0,
        )
