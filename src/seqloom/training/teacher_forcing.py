"""Schedules of teacher forcing: the probability that a step reads the label (S6.3).

To add a kind of teacher forcing, register its options with `FORCING.options` and a function of
options, update and number of updates with `FORCING.part`; it returns the probability of reading the
label.
"""

import math

from jaxtyping import Int
from torch import Tensor

from seqloom.config import (
    FORCING,
    ConstantForcingConfig,
    DecayForcingOptions,
    ExponentialForcingConfig,
    ForcingOptions,
    FreeRunningOptions,
    InverseSigmoidForcingConfig,
    LinearForcingConfig,
    NeverForcingConfig,
    TrainingConfig,
)
from seqloom.randomness import key
from seqloom.training.scheduled_sampling import ScheduledSampling

__all__ = [
    "ForcingSchedule",
    "label_probability",
    "temperature",
]


class ForcingSchedule:
    """Gives the scheduled sampling of every batch as a function of the seed and the update."""

    def __init__(self, config: TrainingConfig, *, seed: int) -> None:
        self._config = config
        self._seed = seed

    def for_batch(
        self, step: int, batch: int, numbers: Int[Tensor, "B"]
    ) -> ScheduledSampling | None:
        """The sampling for these rows of a batch of update `step`; None if every step reads the
        label.
        """
        chosen = self._config.forcing.free_running
        if chosen is None:
            return None
        labels = label_probability(chosen, step, self._config.updates)
        if labels == 1:
            return None
        return ScheduledSampling(
            labels,
            chosen.choice,
            temperature(chosen, step, self._config.updates),
            chosen.overrun,
            key(self._seed, "forcing", step, batch),
            numbers,
        )


def label_probability(options: ForcingOptions, step: int, updates: int) -> float:
    """The probability that a step reads the label in update number `step`, from 0.

    Bengio et al. 2015, Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks.
    """
    return float(FORCING.parts[options.kind](options, step, updates))


@FORCING.part("always")
def always(options: ForcingOptions, step: int, updates: int) -> float:
    """Plain teacher forcing."""
    return 1.0


@FORCING.part("never")
def never(options: NeverForcingConfig, step: int, updates: int) -> float:
    """No teacher forcing."""
    return 0.0


@FORCING.part("constant")
def constant(options: ConstantForcingConfig, step: int, updates: int) -> float:
    """The same probability in every update."""
    return options.probability


@FORCING.part("linear")
def linear(options: LinearForcingConfig, step: int, updates: int) -> float:
    """Linear decay from 1."""
    return max(options.least, 1 - step / (2 * _half(options, updates)))


@FORCING.part("exponential")
def exponential(options: ExponentialForcingConfig, step: int, updates: int) -> float:
    """Exponential decay."""
    return max(options.least, float(0.5 ** (step / _half(options, updates))))


@FORCING.part("inverse-sigmoid")
def inverse_sigmoid(options: InverseSigmoidForcingConfig, step: int, updates: int) -> float:
    """Inverse sigmoid decay: `k / (k + e^(step/k))`."""
    k = _inverse_sigmoid_scale(_half(options, updates))
    return max(options.least, 1 / (1 + math.exp(min(step / k - math.log(k), 700))))


def _half(options: DecayForcingOptions, updates: int) -> float:
    """The update at which the probability is one half."""
    return float(options.half or max(updates / 2, 1))


def temperature(config: FreeRunningOptions, step: int, updates: int) -> float:
    """The temperature of Gumbel draws at update `step`, which changes geometrically."""
    done = min(step / max(updates - 1, 1), 1.0)
    return float(config.temperature ** (1 - done) * config.final_temperature**done)


def _inverse_sigmoid_scale(half: float) -> float:
    """The k for which k / (k + e^(step/k)) is one half at `half`: k ln k = half, by Newton's
    method.
    """
    k = half + 1.0
    for _ in range(50):
        k = (half + k) / (1 + math.log(k))
    return k
