"""Several finished models as one (S7.4)."""

from collections.abc import Sequence

from seqloom.errors import ConfigError
from seqloom.prediction.predictor import Predictor

__all__ = ["ensemble"]


def ensemble(models: Sequence[Predictor]) -> Predictor:
    """A predictor that averages the probabilities of these; it reads and searches as the first.

    All must have been trained with the same source and target vocabulary.
    """
    if not models:
        raise ConfigError("an ensemble needs at least one model")
    first, *others = models
    for number, other in enumerate(others, start=2):
        for side in ("source", "target"):
            if getattr(first, side).fingerprint != getattr(other, side).fingerprint:
                raise ConfigError(
                    f"model {number} has another {side} vocabulary than the first",
                    remedy="train them with the same fields to use them together",
                )
    return first.ensemble_with(others) if others else first
