"""Learning-rate schedules: the rate as a function of the step (S6.6).

To add a schedule, register a function of the options and the step with `SCHEDULES.part`; it gives
the rate after warm-up as a share of `training.rate`.
"""

import math
from collections.abc import Callable

from seqloom.config import SCHEDULES, TrainingConfig

__all__ = ["decay_progress", "learning_rate"]


def learning_rate(config: TrainingConfig, step: int) -> float:
    """The rate of update number `step`, from 0: a linear rise, then the configured decay.

    The decreases of a plateau schedule depend on validation results; they are the optimizer's
    `scale`.
    """
    if step < config.warmup:
        return config.rate * (step + 1) / config.warmup
    decay: Callable[[TrainingConfig, int], float] = SCHEDULES.part_of(config.decay)
    return config.rate * decay(config, step)


def decay_progress(config: TrainingConfig, step: int) -> float:
    """The share of the updates after warm-up that is done, from 0 to 1."""
    return min((step - config.warmup) / max(config.updates - config.warmup, 1), 1.0)


@SCHEDULES.part("constant")
@SCHEDULES.part("plateau")
def constant(config: TrainingConfig, step: int) -> float:
    """Always the highest rate."""
    return 1.0


@SCHEDULES.part("inverse-sqrt")
def inverse_square_root(config: TrainingConfig, step: int) -> float:
    """Vaswani et al. 2017, Attention Is All You Need."""
    return math.sqrt(max(config.warmup, 1) / (step + 1))


@SCHEDULES.part("linear")
def linear(config: TrainingConfig, step: int) -> float:
    """A straight line down to `final_rate`."""
    return _towards_final(config, 1 - decay_progress(config, step))


@SCHEDULES.part("cosine")
def cosine(config: TrainingConfig, step: int) -> float:
    """Half a cosine wave down to `final_rate`: Loshchilov and Hutter 2017, SGDR."""
    return _towards_final(config, (1 + math.cos(math.pi * decay_progress(config, step))) / 2)


def _towards_final(config: TrainingConfig, share: float) -> float:
    return config.final_rate + (1 - config.final_rate) * share
