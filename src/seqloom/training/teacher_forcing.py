"""Teacher forcing and scheduled sampling: which steps read the label in training (S6.3).

To add a kind of teacher forcing, register its options with `FORCING.options` and a function of
options, update and number of updates with `FORCING.part`; it gives the probability of a label.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.config import (
    FORCING,
    ConstantForcingConfig,
    DecayForcingOptions,
    ExponentialForcingConfig,
    ForcingOptions,
    FreeRunningChoice,
    FreeRunningOptions,
    InverseSigmoidForcingConfig,
    LinearForcingConfig,
    NeverForcingConfig,
    TrainingConfig,
)
from seqloom.nn.modules import gumbels, hash_counter, uniforms
from seqloom.randomness import key

__all__ = [
    "FREE_RUNNING",
    "ForcingSchedule",
    "ScheduledSampling",
    "gumbel_noise",
    "label_probability",
    "temperature",
]

BLOCK = 65_536  # numbers that are made at a time


@dataclass(frozen=True)
class ScheduledSampling:
    """Which steps of a batch read the model's own output instead of the label.

    What is drawn for a row depends on the seed and the row's number alone, not on the rest of the
    batch.

    Bengio et al. 2015, Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks.
    """

    label_probability: float = 0.0  # that a step reads the label
    choice: FreeRunningChoice = "greedy"
    temperature: float = 1.0
    overrun: int = 5
    seed: int = 0
    row_numbers: Int[Tensor, "B"] | None = None  # in the whole batch; 0, 1, … if not given

    def forcing_mask(self, labels: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
        """Which steps pass their label to the next, each drawn independently."""
        steps = torch.arange(labels.shape[1], device=labels.device)
        chance = hash_counter(self._rows(key(self.seed, "label"), labels), steps)
        return uniforms(chance) < self.label_probability

    def noise_seeds(self, labels: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        """A random seed for each step of each row."""
        steps = torch.arange(labels.shape[1], device=labels.device)
        return hash_counter(self._rows(key(self.seed, "choice"), labels), steps)

    def _rows(self, seed: int, labels: Tensor) -> Int[Tensor, "B 1"]:
        numbers = torch.arange(len(labels)) if self.row_numbers is None else self.row_numbers
        return hash_counter(seed, numbers.to(labels.device))[:, None]


FREE_RUNNING = ScheduledSampling()
"""No step reads the label: each reads the likeliest token, as in greedy search."""


def gumbel_noise(places: Int[Tensor, "N"], size: int) -> Float[Tensor, "N V"]:
    """Gumbel noise for every token from these seeds, in blocks that fit a processor's cache."""
    blocks = places.split(max(1, BLOCK // size))
    tokens = torch.arange(size, device=places.device)
    return torch.cat([gumbels(hash_counter(block[:, None], tokens)) for block in blocks])


class ForcingSchedule:
    """The scheduled sampling of every batch, a function of the seed and the update."""

    def __init__(self, config: TrainingConfig, *, seed: int) -> None:
        self._config = config
        self._seed = seed

    def for_batch(
        self, step: int, batch: int, numbers: Int[Tensor, "B"]
    ) -> ScheduledSampling | None:
        """For these rows of a batch of update `step`; None where each step reads the label."""
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
    """A straight line down from 1."""
    return max(options.least, 1 - step / (2 * _half(options, updates)))


@FORCING.part("exponential")
def exponential(options: ExponentialForcingConfig, step: int, updates: int) -> float:
    """The same factor at each update."""
    return max(options.least, float(0.5 ** (step / _half(options, updates))))


@FORCING.part("inverse-sigmoid")
def inverse_sigmoid(options: InverseSigmoidForcingConfig, step: int, updates: int) -> float:
    """`k / (k + e^(step/k))`."""
    k = _inverse_sigmoid_scale(_half(options, updates))
    return max(options.least, 1 / (1 + math.exp(min(step / k - math.log(k), 700))))


def _half(options: DecayForcingOptions, updates: int) -> float:
    """The update in which half of the labels are read."""
    return float(options.half or max(updates / 2, 1))


def temperature(config: FreeRunningOptions, step: int, updates: int) -> float:
    """The temperature of Gumbel draws in update number `step`, which changes geometrically."""
    done = min(step / max(updates - 1, 1), 1.0)
    return float(config.temperature ** (1 - done) * config.final_temperature**done)


def _inverse_sigmoid_scale(half: float) -> float:
    """The k of k / (k + e^(step/k)) that makes it one half at `half`: k ln k = half (Newton)."""
    k = half + 1.0
    for _ in range(50):
        k = (half + k) / (1 + math.log(k))
    return k
