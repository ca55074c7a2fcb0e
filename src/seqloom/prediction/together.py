"""Several finished models as one (SPEC S7.4)."""

from collections.abc import Sequence
from dataclasses import replace

from seqloom.errors import ConfigError
from seqloom.model.ensemble import EnsembleDecoder, ensemble
from seqloom.prediction.model import Model

__all__ = ["together"]


def together(models: Sequence[Model]) -> Model:
    """A model that averages the probabilities of these; it reads and searches as the first does.

    All must have been trained with the same source and target vocabulary.
    """
    if not models:
        raise ConfigError("an ensemble needs at least one model")
    first = models[0]
    for number, other in enumerate(models[1:], start=2):
        for side in ("source", "target"):
            if getattr(first, side).fingerprint != getattr(other, side).fingerprint:
                raise ConfigError(
                    f"model {number} has another {side} vocabulary than the first: train them with "
                    "the same fields to use them together"
                )
    if len(models) == 1:
        return first
    network = ensemble([model.network for model in models])
    engine = None
    if isinstance(network.decoder, EnsembleDecoder) and any(model.engine for model in models):
        engine = EnsembleDecoder([model.decoder for model in models], network.decoder.widths)
    return replace(first, network=network, engine=engine, reader=None)
