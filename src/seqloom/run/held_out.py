"""Held-out rows, and what some weights make of them."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from seqloom.data import in_order
from seqloom.metrics import text_scores
from seqloom.model import SequenceModel
from seqloom.prediction import Model
from seqloom.run.learner import example
from seqloom.run.prepare import Prepared
from seqloom.run.progress import Progress, Validation
from seqloom.run.watch import Sample
from seqloom.run.weights import load_weights
from seqloom.search import Greedy
from seqloom.training import measure

__all__ = ["HeldOut", "validated"]

SAMPLED_ROWS = 500  # rows that are written out at a validation


class HeldOut:
    """Measures weights on the held-out rows, in a network of its own."""

    def __init__(self, prepared: Prepared, network: SequenceModel) -> None:
        self._rows = prepared.valid
        self._tokens = prepared.config.training.batch_tokens
        self._model = Model(prepared.config, prepared.source, prepared.target, network.eval())

    def take(self, tensors: Mapping[str, Tensor]) -> None:
        """Use these weights from now on."""
        load_weights(self._model.network, tensors, place="held-out rows")

    def loss(self, tensors: Mapping[str, Tensor]) -> float:
        """The loss per token of these weights, which are then in use."""
        self.take(tensors)
        negative = tokens = 0.0
        for rows in in_order(self._rows.lengths, tokens=self._tokens):
            sums = measure(self._model.network, example(self._rows.batch(rows)), smoothing=0.0)
            negative, tokens = negative + sums.negative_log_probability, tokens + sums.tokens
        return negative / tokens

    def samples(self) -> list[Sample]:
        """Rows spread over all of them, and what the model writes for each."""
        rows, model = self._rows, self._model
        chosen = np.linspace(0, len(rows) - 1, min(SAMPLED_ROWS, len(rows))).astype(np.int64)
        batch = rows.batch(chosen)
        sources = [
            ids[:length] for ids, length in zip(batch.source, batch.source_lengths, strict=True)
        ]
        outputs = model.predict_tokens(sources, search=Greedy())
        return [
            Sample(model.source.decode(source), model.target.decode(target), output.text)
            for source, target, output in zip(sources, batch.target, outputs, strict=True)
        ]


def validated(progress: Progress, loss: float, samples: Sequence[Sample]) -> Validation:
    """The results of the newest step."""
    outputs = [each.output for each in samples]
    references = [each.reference for each in samples]
    bleu, chrf, exact = text_scores(outputs, references, intervals=False)
    return Validation(
        step=progress.step,
        loss=loss,
        chrf=chrf.value,
        bleu=bleu.value,
        exact=exact.value,
        training=progress.loss,
        outputs=len(set(outputs)) if len(set(references)) > 1 else 0,
    )
