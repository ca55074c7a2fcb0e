"""Several finished models as one (S7.4)."""

from collections.abc import Sequence
from dataclasses import replace

from seqloom.errors import ConfigError
from seqloom.model.ensemble import EnsembleDecoder, head_ensemble, network_ensemble
from seqloom.prediction.head_predictor import HeadPredictor
from seqloom.prediction.text_predictor import TextPredictor

__all__ = ["Predictor", "ensemble"]

Predictor = TextPredictor | HeadPredictor
"""What `seqloom.load` gives: a model that writes, or one that judges."""


def ensemble(models: Sequence[Predictor]) -> Predictor:
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
    writers = [model for model in models if isinstance(model, TextPredictor)]
    if not isinstance(first, TextPredictor) or len(writers) < len(models):
        return _ensemble_heads([model for model in models if isinstance(model, HeadPredictor)])
    network = network_ensemble([model.network for model in writers])
    engine = None
    if isinstance(network.decoder, EnsembleDecoder) and any(
        model.decoder_engine for model in writers
    ):
        engine = EnsembleDecoder([model.decoder for model in writers], network.decoder.widths)
    return replace(first, network=network, decoder_engine=engine, encoder_engine=None)


def _ensemble_heads(models: Sequence[HeadPredictor]) -> HeadPredictor:
    """A model that judges by the mean of what these think."""
    network = head_ensemble([model.network for model in models])
    return replace(models[0], network=network)
