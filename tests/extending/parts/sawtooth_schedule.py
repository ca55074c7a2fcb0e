"""A schedule: after warm-up the rate falls to a tenth within ten updates, again and again."""

from seqloom.config import SCHEDULES, TrainingConfig

TEETH = 10  # updates


@SCHEDULES.part("sawtooth")
def sawtooth(config: TrainingConfig, step: int) -> float:
    """The share of the highest rate that an update has."""
    return 1 - 0.9 * ((step - config.warmup) % TEETH) / (TEETH - 1)
