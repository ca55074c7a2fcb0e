"""A network with its fields as what users call: a model that writes, judges or forecasts."""

from seqloom.config import Config
from seqloom.fields import BlanksField, Field, SeriesField, TextField
from seqloom.model import HeadModel, Network
from seqloom.prediction import (
    Forecaster,
    HeadPredictor,
    MaskFiller,
    Predictor,
    TextPredictor,
    fast_decoder,
    fast_encoder,
)
from seqloom.store import RunDirectory

__all__ = ["predictor"]


def predictor(
    config: Config,
    source: Field,
    target: Field,
    network: Network,
    *,
    settled: RunDirectory | None = None,
) -> Predictor:
    """The network in use; with the weights of a run that are `settled`, as fast as can be."""
    if isinstance(network, HeadModel):
        if isinstance(source, SeriesField) and isinstance(target, SeriesField):
            return Forecaster(config, source, target, network)
        known = None if settled is None else settled.cache_directory / "train"
        if isinstance(source, TextField) and isinstance(target, BlanksField):
            return MaskFiller(config, source, target, network, known)
        return HeadPredictor(config, source, target, network, known)
    if not isinstance(target, TextField):
        raise TypeError("a decoder writes text alone")
    if settled is None:
        return TextPredictor(config, source, target, network)
    engine, reader = fast_decoder(network.decoder), fast_encoder(network.encoder)
    known = settled.cache_directory / "train"
    return TextPredictor(config, source, target, network, engine, reader, known)
