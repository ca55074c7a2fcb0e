"""Losses, optimizers and the training loop."""

from seqloom.training.distributed.connections import PeerLostError, PeerSilentError
from seqloom.training.distributed.ranks import SINGLE_PROCESS, Ranks, process_group
from seqloom.training.freezing import freeze, freeze_vectors
from seqloom.training.loop import Portion, Update, fit
from seqloom.training.loss import (
    Example,
    LossOptions,
    PositionWeights,
    Sums,
    measure,
    position_scores,
    row_log_probabilities,
)
from seqloom.training.moving_average import MovingAverage
from seqloom.training.optimizer import Optimizer, UpdateRule, learning_rate, trainable
from seqloom.training.precision import bound_primitive_cache, check_precision, precision_of
from seqloom.training.scheduled_sampling import FREE_RUNNING, ScheduledSampling, check_forcing
from seqloom.training.soft_targets import SoftTargets, likeliest_symbols
from seqloom.training.streams import backward_stream, measure_stream, start_stream
from seqloom.training.teacher_forcing import ForcingSchedule
from seqloom.training.truncated_bptt import StreamState, backward_truncated

__all__ = [
    "FREE_RUNNING",
    "SINGLE_PROCESS",
    "Example",
    "ForcingSchedule",
    "LossOptions",
    "MovingAverage",
    "Optimizer",
    "PeerLostError",
    "PeerSilentError",
    "Portion",
    "PositionWeights",
    "Ranks",
    "ScheduledSampling",
    "SoftTargets",
    "StreamState",
    "Sums",
    "Update",
    "UpdateRule",
    "backward_stream",
    "backward_truncated",
    "bound_primitive_cache",
    "check_forcing",
    "check_precision",
    "fit",
    "freeze",
    "freeze_vectors",
    "learning_rate",
    "likeliest_symbols",
    "measure",
    "measure_stream",
    "position_scores",
    "precision_of",
    "process_group",
    "row_log_probabilities",
    "start_stream",
    "trainable",
]
