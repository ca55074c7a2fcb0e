"""One output step by step: inputs, states, gates, attention, and the best candidates."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
import torch

from seqloom.display import Displayed
from seqloom.errors import ConfigError
from seqloom.explanations.attention import cross_map
from seqloom.explanations.explained_output import (
    ExplainedForecast,
    ExplainedOutput,
    ExplainedText,
)
from seqloom.explanations.flow import compute_gates
from seqloom.explanations.network_graphs import decoder_reads
from seqloom.explanations.parts import output_part, pooling_of
from seqloom.explanations.tracing import Trace, trace_decoder, trace_output
from seqloom.fields import EMPTY, START, UNK
from seqloom.prediction import Output, Predictor, TokenAlternative
from seqloom.remedies import Remedy, Setting

__all__ = ["BEST", "LayerStep", "PredictionStep", "PredictionSteps", "explain_steps"]

BEST = 5
NEVER_WRITTEN = (EMPTY, START, UNK)


@dataclass(frozen=True)
class LayerStep:
    """A recurrent layer at one step."""

    place: str
    norm: float  # of its state h
    gates: dict[str, float]  # the mean of each over the layer's units


@dataclass(frozen=True)
class PredictionStep:
    """One step of a decoder, or a head's prediction after one more item."""

    read: str  # empty if no symbol is read
    wrote: str
    log_probability: float | None  # None for a number
    norm: float  # of the features before the output layer
    best: tuple[TokenAlternative, ...]
    layers: tuple[LayerStep, ...]  # empty without recurrent layers
    attention: tuple[float, ...] | None  # over the source
    beside: tuple[str, ...] = ()  # other inputs: the code, a distribution, features


@dataclass(frozen=True)
class PredictionSteps(Displayed):
    """All steps of one output."""

    source: tuple[str, ...]
    steps: tuple[PredictionStep, ...]
    verb: str = "writes"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        steps = [asdict(step) for step in self.steps]
        return {"source": list(self.source), "verb": self.verb, "steps": steps}


def explain_steps(model: Predictor, said: ExplainedOutput) -> PredictionSteps:
    """The steps of an output text; for other models, a prediction for each item or blank, or for
    each prefix of the input.

    ConfigError if there are no steps.
    """
    return _steps(said, model)


@singledispatch
def _steps(said: ExplainedOutput, model: Any) -> PredictionSteps:
    """The predictions of a head by item or by blank."""
    items = len(said.values) - model.source.closing
    if said.feature_groups is not None:
        raise ConfigError(
            f"{model.source.describe()} are read at once and judged at once",
            remedy=Remedy("try {}, flow or net", Setting("show", "gradients")),
        )
    found = trace_output(model.network, said)
    layers, norms = layer_steps(found, "encoder", items), _state_norms(found, items)
    fed: list[tuple[str, ...]] = [(f"the tag {each}",) for each in said.inputs] or [()] * items
    if said.inputs:
        above = layer_steps(found, "decoder", items)
        layers = [(*below, *_decoder_places(own)) for below, own in zip(layers, above, strict=True)]
        norms = [own[-1].norm for own in above]
    if pooling_of(model.network) in ("each", "around"):
        outputs, positions = _position_outputs(model, said), said.positions
    else:
        outputs, positions = _prefix_outputs(model, said, items), list(range(items))
    return PredictionSteps(
        said.source,
        tuple(
            PredictionStep(
                read=said.source[t],
                wrote=each.text,
                log_probability=each.tokens[-1].log_probability if each.tokens else None,
                norm=norms[t],
                best=each.tokens[-1].alternatives if each.tokens else (),
                layers=layers[t],
                attention=None,
                beside=fed[t],
            )
            for t, each in zip(positions, outputs, strict=True)
        ),
        verb="says",
    )


@_steps.register
def _text_steps(said: ExplainedText, model: Any) -> PredictionSteps:
    """The steps of a decoder."""
    found = trace_decoder(model.network, said)
    logs = found.log_probabilities
    possible = logs.index_fill(1, torch.tensor(NEVER_WRITTEN), -torch.inf)
    values, ids = possible.topk(min(BEST, logs.shape[1] - len(NEVER_WRITTEN)), dim=1)
    names = [model.target.tokens(row) for row in ids.tolist()]
    written = logs.gather(1, said.target_tensor()[:, None])[:, 0].tolist()
    attention = cross_map(found)
    layers = layer_steps(found, "decoder", len(said.target))
    reads = decoder_reads(model.network, len(said.target))
    return PredictionSteps(
        said.source if attention is None else attention.source,
        tuple(
            PredictionStep(
                read=said.inputs[t] if reads[t][0] else "",
                wrote=said.target[t],
                log_probability=written[t],
                norm=float(found.hidden[t][found.hidden[t].isfinite()].norm()),
                best=tuple(map(TokenAlternative, names[t], values[t].tolist())),
                layers=layers[t],
                attention=None
                if attention is None
                else tuple(round(float(weight), 6) for weight in attention.weights[t]),
                beside=reads[t][1],
            )
            for t in range(len(said.target))
        ),
    )


@_steps.register
def _forecast_steps(said: ExplainedForecast, model: Any) -> PredictionSteps:
    """The steps of an autoregressive forecast."""
    found = trace_output(model.network, said)
    recurrent = any(each.location.side == "decoder" for each in found.unit_traces)
    if said.forecast is None or not recurrent:
        raise ConfigError(
            "this forecast has no recurrent state to be followed step by step",
            remedy=Remedy("try {} or flow", Setting("show", "gradients")),
        )
    layers = layer_steps(found, "decoder", len(said.forecast))
    attention = cross_map(found)
    words = [" ".join(f"{number:.4g}" for number in row) for row in said.forecast]
    lags = output_part(model.network).lags
    read = ["the last value" if lags == 1 else f"the last {lags} values", *words]
    return PredictionSteps(
        said.source,
        tuple(
            PredictionStep(
                read=read[t],
                wrote=words[t],
                log_probability=None,
                norm=layers[t][-1].norm,
                best=(),
                layers=layers[t],
                attention=None if attention is None else tuple(attention.weights[t].tolist()),
            )
            for t in range(len(words))
        ),
        verb="forecasts",
    )


def _prefix_outputs(model: Any, said: ExplainedOutput, items: int) -> list[Output]:
    """The label or number predicted for each prefix of the input."""
    places = np.arange(len(said.values))
    prefixes = [np.delete(places, np.arange(t + 1, items)) for t in range(items)]
    outputs: list[Output] = model.predict_rows(
        [said.values[prefix] for prefix in prefixes], alternatives=BEST
    )
    return outputs


def _position_outputs(model: Any, said: ExplainedOutput) -> list[Output]:
    """The tags or the filled blanks by position."""
    (whole,) = model.predict_rows([said.values], alternatives=BEST)
    return [
        Output(token.text, token.log_probability, token.log_probability, (token,), "end")
        for token in whole.tokens
    ]


def _state_norms(found: Trace, items: int) -> list[float]:
    """The norm of the encoder's state at each position."""
    states = found.memory.states
    if states is None:
        return [float("nan")] * items
    norms: list[float] = states[0, :items].norm(dim=1).tolist()
    return norms


def _decoder_places(layers: Sequence[LayerStep]) -> Iterator[LayerStep]:
    """Layers of a decoder, named to differ from those of an encoder."""
    return (replace(layer, place=f"decoder {layer.place}") for layer in layers)


def layer_steps(found: Trace, side: str, count: int) -> list[tuple[LayerStep, ...]]:
    """Every recurrent layer of a side at each of `count` steps, in order of positions.

    Steps at which a decoder reads its source, and the `<end>` of a source, are left out.
    """
    columns = []
    kept = slice(-count, None) if side == "decoder" else slice(count)
    for stretch in found.unit_traces:
        if stretch.location.side != side:
            continue
        norms, gates = stretch.after[0].norm(dim=1).numpy(), compute_gates(stretch)
        if stretch.location.direction == "backward":
            norms, gates = norms[::-1], {name: table[::-1] for name, table in gates.items()}
        norms, gates = norms[kept], {name: t[kept].mean(axis=1) for name, t in gates.items()}
        name = f"layer {stretch.location.layer}"
        if side == "encoder":
            name += f" {stretch.location.direction}"
        columns.append(
            [
                LayerStep(
                    name,
                    float(norms[t]),
                    {gate: float(values[t]) for gate, values in gates.items()},
                )
                for t in range(count)
            ]
        )
    return [tuple(column[t] for column in columns) for t in range(count)]
