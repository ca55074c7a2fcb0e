"""Held-out rows, and what some weights make of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from torch import Tensor

from seqloom.data import batches_by_length
from seqloom.fields import EMPTY
from seqloom.metrics import Score
from seqloom.prediction import Predictor
from seqloom.runs.learner import example
from seqloom.runs.observer import ValidationSample
from seqloom.runs.prepare import PreparedData
from seqloom.runs.progress import Progress, Validation
from seqloom.runs.weights import load_weights
from seqloom.training import ScheduledSampling, measure

__all__ = ["AnyPredictor", "HeldOut", "Measurement"]

AnyPredictor = TypeVar("AnyPredictor", bound=Predictor)


@dataclass(frozen=True)
class Measurement:
    """What some weights reach on the held-out rows: the loss, and scores found along with it."""

    loss: float  # per item of the target
    scores: tuple[Score, ...] = ()  # the leading one first


class HeldOut(Generic[AnyPredictor]):
    """Measures weights on the held-out rows, in a network of its own."""

    def __init__(self, prepared: PreparedData, model: AnyPredictor) -> None:
        self.rows = prepared.valid
        self.training = prepared.config.training
        self.model = model
        model.network.eval()
        is_symbol = model.target.items.symbols is not None
        self._unseen = int((self.rows.targets == EMPTY).sum()) if is_symbol else 0

    def set_weights(self, tensors: Mapping[str, Tensor]) -> None:
        """Use these weights from now on."""
        load_weights(self.model.network, tensors, place="held-out rows")

    def measure(self, tensors: Mapping[str, Tensor]) -> Measurement:
        """What these weights, which are then in use, reach."""
        self.set_weights(tensors)
        return Measurement(self.row_loss())

    def row_loss(self, freedom: ScheduledSampling | None = None) -> float:
        """The loss per item of the target of the weights in use; labels that training did not have
        are no part of it."""
        negative = 0.0
        for rows in batches_by_length(self.rows.lengths, tokens=self.training.batch_tokens):
            batch = example(self.rows.batch(rows), freedom=freedom)
            negative += measure(self.model.network, batch, smoothing=0.0).negative_log_probability
        return negative / max(1, int(self.rows.lengths.target.sum()) - self._unseen)

    def samples(self) -> list[ValidationSample]:
        """Rows spread over all of them and what the model makes of each, where that is shown."""
        return []

    def draw(self, directory: Path) -> None:
        """Put pictures of what the model makes of the rows beside a run, where there are any."""

    def validation(
        self, progress: Progress, measured: Measurement, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The results of the newest step, led by the first score, or else by the loss."""
        leading = measured.scores[0] if measured.scores else None
        return Validation(
            step=progress.step,
            loss=measured.loss,
            metric=-measured.loss if leading is None else leading.objective,
            scores={each.name: each.value for each in measured.scores},
            interval={} if leading is None else leading.interval.as_dict(),
            training=progress.loss,
        )
