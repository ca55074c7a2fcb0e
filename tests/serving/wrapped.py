"""Models that are slow, or fail on some inputs, in ways that a test can see."""

import time
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

from torch import Tensor

from seqloom.data import SeriesTable
from seqloom.engine.core_model import Engine
from seqloom.model import Features, Memory, Source
from seqloom.prediction import Forecast, Forecaster, TextPredictor
from tests.prediction.untrained import untrained
from tests.serving.kinds import made

__all__ = ["POISON", "Slow", "endless", "held_forecaster", "poisoned", "slow"]

POISON = "y"


class Slow:
    """A decoder that takes its time for each step, and counts them."""

    def __init__(self, model: TextPredictor, seconds: float) -> None:
        self.decoder = model.decoder
        self.seconds = seconds
        self.steps = 0

    def start(self, memory: Memory, *, trace: bool = False) -> Any:
        return self.decoder.start(memory, trace=trace)

    def read(self, inputs: Tensor, state: Any) -> tuple[Features, Any]:
        self.steps += 1
        time.sleep(self.seconds)
        return self.decoder.read(inputs, state)

    def write(self, hidden: Tensor) -> Tensor:
        return self.decoder.write(hidden)


class Poisoned:
    """An encoder that fails on every batch which holds a certain symbol."""

    def __init__(self, model: TextPredictor) -> None:
        self.encoder = model.encoder
        (self.symbol,) = model.source.rows([POISON])[0][:1].tolist()

    def encode(self, source: Source) -> Memory:
        if bool((source.values == self.symbol).any()):
            raise RuntimeError("poison")
        return self.encoder.encode(source)


@dataclass(frozen=True)
class HeldForecaster(Forecaster):
    """A model that forecasts nothing before it may."""

    may: Event = field(default_factory=Event)

    def forecast(self, table: SeriesTable, start: int, *, steps: int | None = None) -> Forecast:
        self.may.wait()
        return super().forecast(table, start, steps=steps)


def held_forecaster() -> HeldForecaster:
    """A model whose every forecast lasts until it is let go."""
    model = made("load")
    assert isinstance(model, Forecaster)
    return HeldForecaster(model.config, model.source, model.target, model.network)


def slow(seconds: float, **search: Any) -> tuple[TextPredictor, Slow]:
    """A model whose every step lasts so long."""
    model = untrained("transformer")
    if search:
        config = model.config.model_copy(
            update={"search": model.config.search.model_copy(update=search)}
        )
        model = replace(model, config=config)
    decoder = Slow(model, seconds)
    return replace(model, engine=Engine(model.encoder, decoder)), decoder


def endless(seconds: float) -> tuple[TextPredictor, Slow]:
    """A slow model whose outputs are all very long."""
    return slow(seconds, min_extra=2_000, max_extra=2_000)


def poisoned() -> TextPredictor:
    """A model that fails on some inputs."""
    model = untrained("transformer")
    return replace(model, engine=Engine(Poisoned(model), model.decoder))
