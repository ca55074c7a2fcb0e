"""A network with its fields as what users call: a model that writes, or one that judges."""

from seqloom.config import Config
from seqloom.fields import Field, TextField
from seqloom.model import HeadedModel, Network
from seqloom.prediction import Judge, Model, Predictor, fast, fast_reader

__all__ = ["predictor"]


def predictor(
    config: Config, source: Field, target: Field, network: Network, *, settled: bool = False
) -> Predictor:
    """The network in use; with weights that are `settled`, as fast as it can be made."""
    if isinstance(network, HeadedModel):
        return Judge(config, source, target, network)
    if not isinstance(target, TextField):
        raise TypeError("a decoder writes text alone")
    if not settled:
        return Model(config, source, target, network)
    engine, reader = fast(network.decoder), fast_reader(network.encoder)
    return Model(config, source, target, network, engine, reader)
