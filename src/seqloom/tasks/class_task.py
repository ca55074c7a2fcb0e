"""What labels and tags share: classes with probabilities."""

import math
from collections.abc import Sequence

from seqloom.data import Corpus
from seqloom.fields import Field
from seqloom.metrics import Predictions
from seqloom.prediction import HeadPredictor, Output
from seqloom.runs.diagnosis import symbol_guess_loss
from seqloom.tasks.breakdown import Breakdown, class_breakdowns
from seqloom.tasks.head_task import HeadTask

__all__ = ["ClassTask"]


class ClassTask(HeadTask[HeadPredictor]):
    """A target of classes: one for a row, or one for each token."""

    def guess_loss(self, train: Corpus, valid: Corpus, target: Field) -> float:
        """The loss of guessing by how common each class is."""
        return symbol_guess_loss(train, valid, target.items.count)

    def predictions(self, outputs: Sequence[Output], references: Sequence[str]) -> Predictions:
        """Outputs with the probability of each class in them."""
        return Predictions(
            self.kind,
            [each.text for each in outputs],
            references,
            confidences=[_probabilities(each) for each in outputs],
        )

    def breakdowns(self, model: HeadPredictor, data: Predictions) -> tuple[Breakdown, ...]:
        """By class, by confusion and by confidence."""
        return class_breakdowns(data, model.target.tokens(range(1, model.target.items.count)))


def _probabilities(output: Output) -> list[float]:
    return [min(1.0, math.exp(token.log_probability)) for token in output.tokens]
