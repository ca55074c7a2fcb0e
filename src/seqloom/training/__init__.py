"""Loss, optimiser and the training loop."""

from seqloom.training.distributed.ranks import ALONE, Ranks, meeting
from seqloom.training.free_running import check_forcing
from seqloom.training.freezing import freeze, freeze_vectors
from seqloom.training.loop import Portion, Update, fit
from seqloom.training.loss import Cost, Example, Sums, measure, row_log_probabilities
from seqloom.training.moving_average import MovingAverage
from seqloom.training.optimizer import Optimizer
from seqloom.training.position_weights import Weighing
from seqloom.training.precision import check_precision, precision_of
from seqloom.training.schedule import learning_rate
from seqloom.training.streams import backward_stream, begun, measure_stream
from seqloom.training.teacher_forcing import UNFORCED, Forcing, Freedom
from seqloom.training.truncated_bptt import Carried, backward_truncated

__all__ = [
    "ALONE",
    "UNFORCED",
    "Carried",
    "Cost",
    "Example",
    "Forcing",
    "Freedom",
    "MovingAverage",
    "Optimizer",
    "Portion",
    "Ranks",
    "Sums",
    "Update",
    "Weighing",
    "backward_stream",
    "backward_truncated",
    "begun",
    "check_forcing",
    "check_precision",
    "fit",
    "freeze",
    "freeze_vectors",
    "learning_rate",
    "measure",
    "measure_stream",
    "meeting",
    "precision_of",
    "row_log_probabilities",
]
