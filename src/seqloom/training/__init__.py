"""Loss, optimiser and the training loop."""

from seqloom.training.loop import Portion, Update, fit
from seqloom.training.loss import Example, Sums, measure, row_log_probabilities
from seqloom.training.optimizer import Optimizer, learning_rate
from seqloom.training.ranks import ALONE, Ranks, meeting

__all__ = [
    "ALONE",
    "Example",
    "Optimizer",
    "Portion",
    "Ranks",
    "Sums",
    "Update",
    "fit",
    "learning_rate",
    "measure",
    "meeting",
    "row_log_probabilities",
]
