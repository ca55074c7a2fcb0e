"""A network with its fields as what users call: a model that writes, judges or forecasts."""

from seqloom.config import Config
from seqloom.fields import Field, GapsField, SeriesField, TextField
from seqloom.model import HeadedModel, Network
from seqloom.prediction import Filler, Forecaster, Judge, Model, Predictor, fast, fast_reader
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
    if isinstance(network, HeadedModel):
        if isinstance(source, SeriesField) and isinstance(target, SeriesField):
            return Forecaster(config, source, target, network)
        known = None if settled is None else settled.cache_directory / "train"
        if isinstance(source, TextField) and isinstance(target, GapsField):
            return Filler(config, source, target, network, known)
        return Judge(config, source, target, network, known)
    if not isinstance(target, TextField):
        raise TypeError("a decoder writes text alone")
    if settled is None:
        return Model(config, source, target, network)
    engine, reader = fast(network.decoder), fast_reader(network.encoder)
    known = settled.cache_directory / "train"
    return Model(config, source, target, network, engine, reader, known)
