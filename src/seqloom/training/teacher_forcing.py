"""How often a step reads the label, and which steps those are (S6.3)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.config import (
    FORCING,
    AlwaysForcingConfig,
    ConstantForcingConfig,
    DecayForcingOptions,
    ExponentialForcingConfig,
    ForcingConfig,
    FreeRunningChoice,
    FreeRunningOptions,
    InverseSigmoidForcingConfig,
    LinearForcingConfig,
    NeverForcingConfig,
    TrainingConfig,
)
from seqloom.nn.counter_rng import gumbels, hash_counter, uniforms
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
    """How far the rows of a batch are left to themselves, and the chance that decides it.

    What is drawn for a row depends on the seed and on its number alone, not on its batch mates.
    """

    label_probability: float = 0.0  # that a step reads the label
    choice: FreeRunningChoice = "greedy"
    temperature: float = 1.0
    overrun: int = 5
    seed: int = 0
    row_numbers: Int[Tensor, "B"] | None = (
        None  # of the rows in the whole batch; 0, 1, … if not given
    )

    def forcing_mask(self, labels: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
        """Which steps hand their label on to the next, each drawn by itself."""
        steps = torch.arange(labels.shape[1], device=labels.device)
        chance = hash_counter(self._rows(key(self.seed, "label"), labels), steps)
        return uniforms(chance) < self.label_probability

    def noise_seeds(self, labels: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        """A number for each step of each row, from which its noise is drawn."""
        steps = torch.arange(labels.shape[1], device=labels.device)
        return hash_counter(self._rows(key(self.seed, "choice"), labels), steps)

    def _rows(self, seed: int, labels: Tensor) -> Int[Tensor, "B 1"]:
        numbers = torch.arange(len(labels)) if self.row_numbers is None else self.row_numbers
        return hash_counter(seed, numbers.to(labels.device))[:, None]


FREE_RUNNING = ScheduledSampling()
"""No step reads the label: each reads the likeliest token, as in greedy search."""


def gumbel_noise(places: Int[Tensor, "N"], size: int) -> Float[Tensor, "N V"]:
    """Gumbel draws for every token at these places, in blocks that stay in a processor's cache."""
    blocks = places.split(max(1, BLOCK // size))
    tokens = torch.arange(size, device=places.device)
    return torch.cat([gumbels(hash_counter(block[:, None], tokens)) for block in blocks])


class ForcingSchedule:
    """The freedom of every batch of training, a function of the seed and the update."""

    def __init__(self, config: TrainingConfig, *, seed: int) -> None:
        self._config = config
        self._seed = seed

    def for_batch(
        self, step: int, batch: int, numbers: Int[Tensor, "B"]
    ) -> ScheduledSampling | None:
        """For these rows of a batch of update `step`; None where each step reads the label."""
        chosen = self._config.forcing
        labels = label_probability(chosen, step, self._config.updates)
        if labels == 1 or not isinstance(chosen, FreeRunningOptions):
            return None
        return ScheduledSampling(
            labels,
            chosen.choice,
            temperature(chosen, step, self._config.updates),
            chosen.overrun,
            key(self._seed, "forcing", step, batch),
            numbers,
        )


def label_probability(config: ForcingConfig, step: int, updates: int) -> float:
    """That a step reads the label in update number `step`, from 0."""
    match config:
        case AlwaysForcingConfig():
            return 1.0
        case NeverForcingConfig():
            return 0.0
        case ConstantForcingConfig(probability=constant):
            return constant
    if not isinstance(config, DecayForcingOptions):
        raise FORCING.unknown(config.kind)
    half = float(config.half or max(updates / 2, 1))
    match config:
        case LinearForcingConfig():
            curve = 1 - step / (2 * half)
        case ExponentialForcingConfig():
            curve = 0.5 ** (step / half)
        case InverseSigmoidForcingConfig():
            k = _inverse_sigmoid_scale(half)
            curve = 1 / (1 + math.exp(min(step / k - math.log(k), 700)))
        case _:
            raise FORCING.unknown(config.kind)
    return max(config.least, curve)


def temperature(config: FreeRunningOptions, step: int, updates: int) -> float:
    """Of Gumbel draws in update number `step`: from the first to the last by equal factors."""
    done = min(step / max(updates - 1, 1), 1.0)
    return float(config.temperature ** (1 - done) * config.final_temperature**done)


def _inverse_sigmoid_scale(half: float) -> float:
    """The k of k / (k + e^(step/k)) that makes it one half at `half`: k ln k = half (Newton)."""
    k = half + 1.0
    for _ in range(50):
        k = (half + k) / (1 + math.log(k))
    return k
