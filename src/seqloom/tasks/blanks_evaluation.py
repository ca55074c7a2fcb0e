"""How well the gaps of texts are filled in: on held-out rows, in evaluations, beside counts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from seqloom.baselines.bigrams import Bigrams
from seqloom.baselines.ngrams import last_tokens
from seqloom.data import Corpus, even_indices
from seqloom.fields import BLANK, EMPTY, UNK
from seqloom.metrics import Score, accuracy_from_counts, perplexity
from seqloom.model import Network
from seqloom.prediction import BlankQuery, BlankScores, MaskFiller
from seqloom.runs.held_out import HeldOut
from seqloom.runs.learner import masking_of
from seqloom.runs.observer import ValidationSample
from seqloom.runs.prepare import PreparedData
from seqloom.runs.progress import Progress, Validation

__all__ = ["HeldOutBlanks", "bigram_score", "mask_filling_scores", "summarize_blanks"]

ROWS = 1_000  # that are asked for at a validation
BASELINE = "two-sided bigrams"


def mask_filling_scores(model: MaskFiller, texts: Sequence[str]) -> list[Score]:
    """The share of tokens that are told right, each from all others, and their perplexity; a token
    outside the vocabulary is never right, and has none."""
    return summarize_blanks(model.token_scores(texts))


def summarize_blanks(told: Sequence[BlankScores]) -> list[Score]:
    """The same for texts that have been asked for."""
    known = [each.tokens != UNK for each in told]
    likely = [
        float(t.log_probabilities[k].sum()) for t, k in zip(told, known, strict=True) if k.any()
    ]
    counts = [int(each.sum()) for each in known if each.any()]
    right = [each.guesses == each.tokens for each in told]
    return [_accuracy(right), perplexity(likely, counts)]


def bigram_score(model: MaskFiller, texts: Sequence[str], place: Path) -> dict[str, Score]:
    """The same share for pairs of neighbours that were counted in the rows a model learnt from.

    RunError where these are gone.
    """
    learnt, part = last_tokens(Corpus.open(place).sources)
    known = Bigrams.learn(learnt, model.target.fillable)
    right = []
    for row in model.source.rows(texts):
        tokens = np.asarray(row[: len(row) - model.source.closing], np.int64)
        asked = np.flatnonzero(model.target.fillable[tokens] | (tokens == UNK))
        right.append(known.guesses(tokens, asked) == tokens[asked])
    return {f"{BASELINE}{part}": _accuracy(right)}


def _accuracy(right: Sequence[np.ndarray]) -> Score:
    rows = np.array([(each.sum(), len(each)) for each in right], np.float64)
    return accuracy_from_counts(rows, what="gaps")


class HeldOutBlanks(HeldOut):
    """Measures weights by gaps of held-out rows, the same each time."""

    def __init__(self, prepared: PreparedData, network: Network) -> None:
        super().__init__(prepared, network)
        chosen = even_indices(len(self.rows), ROWS)
        masking = masking_of(prepared.config, prepared.target)
        if masking is None:
            raise TypeError("held-out gaps are for texts with gaps")
        batch = self.rows.batch(chosen)
        masked = (masking.all_positions if self.filler.head.around else masking).mask(batch)
        self._questions = []
        for row, length, target in zip(
            masked.source, masked.source_lengths, masked.target, strict=True
        ):
            positions = np.flatnonzero(target != EMPTY)
            values = row[:length].astype(np.int32)
            self._questions.append(BlankQuery(values, positions, target[positions]))
        self._right: dict[float, float] = {}  # per cent, by the loss of the same weights

    @property
    def filler(self) -> MaskFiller:
        """The model that is measured."""
        if not isinstance(self.model, MaskFiller):
            raise TypeError("held-out gaps are for a model that fills them in")
        return self.model

    def loss(self, tensors: Mapping[str, Tensor]) -> float:
        """The mean surprise of a token that was left out."""
        self.set_weights(tensors)
        told = BlankScores(
            *map(np.concatenate, zip(*self.filler.answer_queries(self._questions), strict=True))
        )
        loss = -float(told.log_probabilities.mean())
        self._right[loss] = 100 * float((told.guesses == told.tokens).mean())
        return loss

    def samples(self) -> list[ValidationSample]:
        """Rows with one gap each, what was there, and what the model thinks."""
        shown = [each for each in self._questions if len(each.positions)][: self._training.samples]
        rows, references = [], []
        for question in shown:
            middle = len(question.positions) // 2
            values = self._unmask(question)
            values[question.positions[middle]] = BLANK
            rows.append(values)
            references.append(self.filler.target.cell(question.tokens[[middle]]))
        outputs = self.filler.predict_rows(rows)
        return [
            ValidationSample(
                self.filler.text_with_blanks.cell(row[:-1]), reference, output.tokens[0].text
            )
            for row, reference, output in zip(rows, references, outputs, strict=True)
        ]

    def validation(
        self, progress: Progress, loss: float, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The results of the newest step."""
        right = self._right[loss]
        return Validation(
            step=progress.step,
            loss=loss,
            metric=right,
            scores={"accuracy": right},
            training=progress.loss,
        )

    @staticmethod
    def _unmask(question: BlankQuery) -> np.ndarray:
        """The text without gaps."""
        values = question.values.copy()
        values[question.positions] = question.tokens
        return values
