"""The learning rate as a function of the step (S6.6)."""

import math

from seqloom.config import TrainingConfig

__all__ = ["learning_rate"]


def learning_rate(config: TrainingConfig, step: int) -> float:
    """The rate of update number `step`, from 0: a linear rise, then the configured fall.

    A plateau's falls depend on held-out results; they are the optimiser's `scale`.
    """
    if step < config.warmup:
        return config.rate * (step + 1) / config.warmup
    done = min((step - config.warmup) / max(config.updates - config.warmup, 1), 1.0)
    match config.decay:
        case "constant" | "plateau":
            return config.rate
        case "inverse-sqrt":
            return config.rate * math.sqrt(max(config.warmup, 1) / (step + 1))
        case "linear":
            share = 1 - done
        case "cosine":
            share = (1 + math.cos(math.pi * done)) / 2
    return config.rate * (config.final_rate + (1 - config.final_rate) * share)
