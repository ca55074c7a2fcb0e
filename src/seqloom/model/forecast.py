"""Forecasts of series: encoders that subtract the last value, and heads that add it (S1.2).

A forecast is (B, T, C·Q): for each column its mean and then its quantiles, column after column.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.config import ENCODERS, HEADS, HorizonHeadConfig
from seqloom.errors import ConfigError
from seqloom.fields import Series
from seqloom.model.connections import SOURCE, STATES, Connection, ConnectionNode, Connections
from seqloom.model.parts import DecoderModule, EncoderModule, Head, HeadContext, WrappingEncoder
from seqloom.model.state import ForecastContext, Memory, Source
from seqloom.nn.embedding import Projection
from seqloom.nn.modules import Dropout

__all__ = [
    "AutoregressiveForecast",
    "ForecastHead",
    "ForecastTarget",
    "HorizonHead",
    "LastValueEncoder",
    "LinearForecast",
    "StatesForecast",
]


INPUT, OUTPUT, FORECAST = "decoder.input", "decoder.output", "head.output"


class ForecastTarget(NamedTuple):
    """The size of a forecast: for each column and step, a mean and quantiles."""

    columns: int
    steps: int
    quantiles: tuple[float, ...]

    @classmethod
    def of(cls, target: Series) -> "ForecastTarget":
        """The forecast of such a target."""
        return cls(target.count, target.steps, target.quantiles)

    @property
    def outputs_per_column(self) -> int:
        """Numbers for each column and step."""
        return 1 + len(self.quantiles)


class LastValueEncoder(WrappingEncoder):
    """Subtracts the last values of a series before it is encoded; the head adds them again.

    Covariates that are known ahead are the last columns, and stay unchanged.

    Zeng et al. 2023, Are Transformers Effective for Time Series Forecasting?
    """

    def __init__(self, inner: EncoderModule, source: Series, horizon: int) -> None:
        super().__init__()
        self.inner = inner
        self.known = source.known
        self.horizon = horizon

    def encode(self, source: Source) -> Memory:
        values = source.values
        observed = values.shape[2] - self.known
        last = values[:, -1:].clone()
        last[..., observed:] = 0
        levelled = values - last
        memory = self.inner.encode(Source(levelled, source.lengths))
        ahead = values[:, max(0, values.shape[1] - self.horizon) :, observed:]
        past = ForecastContext(last[:, 0, :observed], levelled[..., :observed], ahead)
        return replace(memory, past=past)

    def connections(self) -> Connections:
        """Connections without the last position's observed values, which become zero."""
        found = self.inner.connections()
        edges = tuple(self._with_level(edge) for edge in found.edges)
        last = Connection(SOURCE, "encoder.input", "level", "field", field=self._level)
        return Connections(found.nodes, (*edges, last), found.order)

    def _with_level(self, edge: Connection) -> Connection:
        if edge.tail != SOURCE or self.known:
            return edge
        return replace(edge, steps="field", field=_all_but_last)

    @staticmethod
    def _level(position: int, items: int) -> list[int]:
        return [items - 1] if position < items - 1 else []


class ForecastHead(Head):
    """Base of forecasting heads: the loss, and averaging for ensembles."""

    loss_name = "squared error and pinball loss"
    output_name = "forecast"
    forecasts = True

    def __init__(self, aim: ForecastTarget) -> None:
        super().__init__()
        self.aim = aim
        self.linear: nn.Linear | None = None  # the linear path beside the network

    def add_linear_path(self, window: int) -> None:
        """Add a linear map of each column's window, the same for all columns, to the forecast."""
        self.linear = _zero_map(window, self.aim)

    @property
    def linear_map(self) -> nn.Linear | None:
        """The linear map from a window, minus its last value, to the forecast, if there is one."""
        return self.linear

    def losses(
        self, outputs: Float[Tensor, "N V"], targets: Float[Tensor, "N C"], *, smoothing: float
    ) -> Float[Tensor, "N"]:
        """The squared error of the mean and the pinball loss of each quantile, over all columns.

        Koenker and Bassett 1978, Regression Quantiles.
        """
        found = outputs.unflatten(1, (self.aim.columns, self.aim.outputs_per_column))
        off = targets[:, :, None] - found
        losses = off[..., 0].square()
        for number, share in enumerate(self.aim.quantiles, 1):
            losses = losses + torch.maximum(
                share * off[..., number], (share - 1) * off[..., number]
            )
        return losses.mean(dim=1)

    def average(self, outputs: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        """The mean of each number."""
        return outputs.mean(0)

    def _add_linear(
        self, found: Float[Tensor, "B T C Q"], memory: Memory, first: int = 0
    ) -> Float[Tensor, "B T C Q"]:
        """Add the linear path to a forecast of the steps from `first` on."""
        if self.linear is None:
            return found
        columns = _past(memory).offsets[..., : self.aim.columns].transpose(1, 2)
        direct = self._by_step(self.linear(columns))
        return found + direct[:, first : first + found.shape[1]]

    def _by_step(self, found: Float[Tensor, "B C N"]) -> Float[Tensor, "B T C Q"]:
        shape = self.aim.steps, self.aim.outputs_per_column
        return found.unflatten(2, shape).transpose(1, 2)

    def _add_last_values(
        self, found: Float[Tensor, "B T C Q"], memory: Memory
    ) -> Float[Tensor, "B T V"]:
        """The forecast with the last values added again."""
        last = _past(memory).last[:, : self.aim.columns]
        return (found + last[:, None, :, None]).flatten(2)


@HEADS.part("horizon")
class HorizonHead(ForecastHead):
    """Forecasts all steps at once, from the raw values or from an encoder's states."""

    @classmethod
    def build(cls, options: HorizonHeadConfig, context: HeadContext) -> "HorizonHead":
        source, target = context.source.series, context.target.series
        if source is None or target is None:
            context.states()
            raise context.misfit()
        if context.encoded.states is None:
            raise ConfigError("a forecast needs an encoder: model.encoder.kind is 'none'")
        aim, inner, dropout = ForecastTarget.of(target), options.inner, options.dropout
        if ENCODERS.parts[context.model.encoder.kind].reads_values:
            return LinearForecast(source, aim, inner=inner, dropout=dropout)
        states = context.encoded.states
        return StatesForecast(source, states, aim, inner=inner, dropout=dropout)

    def connections(self) -> Connections:
        edges = [Connection(STATES, FORECAST, "up", "all")]
        if self.linear is not None:
            edges.append(Connection(SOURCE, FORECAST, "values", "field", field=_before_last))
        return Connections((), tuple(edges)).merge(_forecast_connections())


class LinearForecast(HorizonHead):
    """A linear map from window to forecast, shared by all columns (channel-independent).

    Columns that are read but not forecast have a map each, and a factor for each forecast column;
    these start at zero. The output of an inner layer, if there is one, is added.

    Zeng et al. 2023, Are Transformers Effective for Time Series Forecasting?
    """

    def __init__(
        self, source: Series, aim: ForecastTarget, *, inner: int = 0, dropout: float = 0.0
    ) -> None:
        super().__init__(aim)
        size = aim.steps * aim.outputs_per_column
        self.output = _zero_map(source.steps, aim)
        others = source.count - aim.columns
        self.others = nn.Parameter(torch.zeros(others, source.steps, size)) if others else None
        self.factors = nn.Parameter(torch.ones(others, aim.columns)) if others else None
        self.dropout = Dropout(dropout)
        self.inner = _perceptron(source.steps, inner, size, self.dropout) if inner else None

    def add_linear_path(self, window: int) -> None:
        """Do nothing: this head is linear already."""

    @property
    def linear_map(self) -> nn.Linear:
        return self.output

    def forward(self, memory: Memory) -> Float[Tensor, "B T V"]:
        columns = _states(memory).transpose(1, 2)
        own, rest = columns[:, : self.aim.columns], columns[:, self.aim.columns :]
        found = self.output(self.dropout(own) if self.inner is None else own)  # (B,C,T·Q)
        if self.inner is not None:
            found = found + self.inner(own)
        if self.others is not None and self.factors is not None:
            found = found + torch.einsum("bes,esn,ec->bcn", rest, self.others, self.factors)
        return self._add_last_values(self._by_step(found), memory)


class StatesForecast(HorizonHead):
    """Maps an encoder's states to the forecast, first over time, then over their width."""

    def __init__(
        self,
        source: Series,
        width: int,
        aim: ForecastTarget,
        *,
        inner: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(aim)
        self.dropout = Dropout(dropout)
        self.time = (
            _perceptron(source.steps, inner, aim.steps, self.dropout)
            if inner
            else nn.Linear(source.steps, aim.steps)
        )
        self.output = nn.Linear(width, aim.columns * aim.outputs_per_column)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, memory: Memory) -> Float[Tensor, "B T V"]:
        over_time = self.time(self.dropout(_states(memory)).transpose(1, 2)).transpose(1, 2)
        shape = self.aim.columns, self.aim.outputs_per_column
        found = self._add_linear(self.output(over_time).unflatten(2, shape), memory)
        return self._add_last_values(found, memory)


class AutoregressiveForecast(ForecastHead):
    """An autoregressive forecast by a decoder (S1.2).

    A step reads the last `lags` values of each column, observed or forecast, and the covariates
    known for it. A linear map of a column's own values, the same for all columns, is added to the
    decoder's output.
    """

    feeds_back = True

    def __init__(
        self,
        decoder: DecoderModule,
        vectors: Projection,
        aim: ForecastTarget,
        *,
        lags: int = 1,
        forced: float = 1.0,
    ) -> None:
        """`vectors` are part of the decoder, and are not registered twice."""
        super().__init__(aim)
        self.decoder = decoder
        self.vectors: Callable[[Tensor], Tensor] = vectors.__call__
        self.lags = lags
        self.covariates = vectors.map.in_features - lags * aim.columns
        self.forced = forced
        self.direct = nn.Linear(lags, aim.outputs_per_column, bias=False)
        nn.init.zeros_(self.direct.weight)

    def forward(self, memory: Memory) -> Float[Tensor, "B T V"]:
        """Each forecast mean is among the inputs of the next step."""
        state = self.decoder.start(memory)
        values = self._recent_values(memory)
        steps = []
        for number in range(self.aim.steps):
            found, state = self._read(values, memory, number, state)
            steps.append(found)
            values = torch.cat([values[:, 1:], found[..., 0]], dim=1)
        return self._add_last_values(torch.cat(steps, dim=1), memory)

    @property
    def decoder_part(self) -> DecoderModule:
        return self.decoder

    def teacher_force(
        self, memory: Memory, target: Float[Tensor, "B T C"]
    ) -> Float[Tensor, "B T V"]:
        """Forecast with true values fed back, in the share `forced` of training batches (S6.3)."""
        if self.training and float(torch.rand(())) >= self.forced:
            return self(memory)
        last = _past(memory).last[:, None, : self.aim.columns]
        values = torch.cat([self._recent_values(memory), (target - last)[:, :-1]], dim=1)
        found, _ = self._read(values, memory, 0, self.decoder.start(memory))
        return self._add_last_values(found, memory)

    def _recent_values(self, memory: Memory) -> Float[Tensor, "B N C"]:
        """The last `lags` values, minus the last one."""
        return _past(memory).offsets[:, -self.lags :, : self.aim.columns]

    def _read(
        self, values: Float[Tensor, "B N C"], memory: Memory, first: int, state: Any
    ) -> tuple[Float[Tensor, "B T C Q"], Any]:
        """The forecast after every `lags` values, from step `first` on."""
        stretches = values.unfold(1, self.lags, 1)  # (B, T, C, lags)
        ahead = _past(memory).future_covariates[:, first : first + stretches.shape[1]]
        inputs = torch.cat([stretches.flatten(2), ahead], dim=2)
        features, state = self.decoder.read_vectors(self.vectors(inputs), state)
        written = self.decoder.write(features.hidden)
        shape = self.aim.columns, self.aim.outputs_per_column
        found = written.unflatten(2, shape) + self.direct(stretches)
        return self._add_linear(found, memory, first), state

    def connections(self) -> Connections:
        """The decoder's connections, with values in place of tokens, and the linear map of recent
        values.
        """
        inner = self.decoder.connections()
        edges = [edge for edge in inner.edges if edge.kind != "feedback"]
        heads = [OUTPUT, *(INPUT for edge in inner.edges if edge.kind == "feedback")]
        for head in heads:
            linear = head == OUTPUT and self.linear is not None
            read = _all_items if linear else self._last_values
            edges.append(Connection(OUTPUT, head, "feedback", "recent", self.lags))
            edges.append(Connection(SOURCE, head, "values", "field", field=read))
        if self.covariates and INPUT in heads:
            edges.append(Connection(SOURCE, INPUT, "values", "field", field=self._ahead))
        edges.append(Connection(OUTPUT, FORECAST))
        nodes = tuple(
            replace(node, kind="readout", label="change") if node.name == OUTPUT else node
            for node in inner.nodes
        )
        return Connections(nodes, tuple(edges)).merge(_forecast_connections())

    def _last_values(self, step: int, items: int) -> Sequence[int]:
        """The observed values among the last `lags` before a step; the very last alone is zero."""
        left = self.lags - step
        return range(max(0, items - left), items) if left > 1 else ()

    def _ahead(self, step: int, items: int) -> Sequence[int]:
        """The item with the covariates known for a step."""
        return [max(0, items - self.aim.steps) + step]


def _forecast_connections() -> Connections:
    """The forecast, with the last values added again."""
    node = ConnectionNode(FORECAST, "output", label="forecast")
    return Connections((node,), (Connection(SOURCE, FORECAST, "level", "tail-last"),))


def _all_but_last(position: int, items: int) -> list[int]:
    return [position] if position < items - 1 else []


def _before_last(step: int, items: int) -> Sequence[int]:
    return range(items - 1)


def _all_items(step: int, items: int) -> Sequence[int]:
    return range(items)


def _zero_map(window: int, aim: ForecastTarget) -> nn.Linear:
    """A map from the window of a column to its forecast, all zero."""
    found = nn.Linear(window, aim.steps * aim.outputs_per_column)
    nn.init.zeros_(found.weight)
    nn.init.zeros_(found.bias)
    return found


def _perceptron(inputs: int, inner: int, outputs: int, dropout: Dropout) -> nn.Sequential:
    last = nn.Linear(inner, outputs)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(inputs, inner), nn.GELU(), dropout, last)


def _states(memory: Memory) -> Float[Tensor, "B S D"]:
    if memory.states is None:
        raise TypeError("a forecast needs the encoder's states, which it does not give")
    return memory.states


def _past(memory: Memory) -> ForecastContext:
    if memory.past is None:
        raise TypeError("a forecast needs the last values of what was read")
    return memory.past
