"""Attention of every layer and head, to the source and within a side (S4.6, S9)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from seqloom.display import Displayed
from seqloom.errors import ConfigError
from seqloom.explanations.attention_map import AttentionMap
from seqloom.explanations.explained_output import ExplainedOutput
from seqloom.explanations.media import MediaAttention
from seqloom.explanations.parts import pooling_of
from seqloom.explanations.plain_values import round_values
from seqloom.explanations.tracing import AttentionTrace, Trace, trace_output
from seqloom.model import Network
from seqloom.prediction import Predictor
from seqloom.remedies import Remedy, Setting

__all__ = [
    "ATTENTION_KINDS",
    "Attentions",
    "HeadMaps",
    "LayerAttention",
    "attention_from_trace",
    "attention_of",
    "attention_over_media",
    "attribute_by_attention",
    "cross_map",
    "layer_maps",
]

ATTENTION_KINDS = {
    "cross": ("decoder", "cross"),
    "encoder": ("encoder", "self"),
    "decoder": ("decoder", "self"),
}  # queries: the decoder over the source, or a side over itself


@dataclass(frozen=True, eq=False)
class LayerAttention:
    """Attention weights of one layer (H, T, S); each row sums to 1."""

    kind: str  # cross, encoder or decoder
    layer: int  # from 1
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: np.ndarray

    def mean(self) -> AttentionMap:
        """The average over heads."""
        return AttentionMap(self.columns, self.rows, self.weights.mean(axis=0))

    def head(self, number: int) -> AttentionMap:
        """One head, counted from 1."""
        if not 1 <= number <= len(self.weights):
            raise ConfigError(
                f"layer {self.layer} has {len(self.weights)} heads and no head {number}",
                remedy=f"choose 1 to {len(self.weights)}",
            )
        return AttentionMap(self.columns, self.rows, self.weights[number - 1])

    def pool(self, head: int | None = None, *, maximum: bool = False) -> Float[np.ndarray, "T S"]:
        """One head, counted from 1; or the mean or the maximum over heads."""
        if head is not None:
            return self.head(head).weights
        found: np.ndarray = self.weights.max(axis=0) if maximum else self.weights.mean(axis=0)
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "of": self.kind,
            "layer": self.layer,
            "rows": list(self.rows),
            "columns": list(self.columns),
            "weights": round_values(self.weights),
        }


@dataclass(frozen=True, eq=False)
class Attentions:
    """All attention weights for one input and its output; empty if the model has no attention."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    layers: tuple[LayerAttention, ...]

    @classmethod
    def from_trace(cls, found: Trace) -> "Attentions":
        """Collect the attention of a trace."""
        layers = tuple(_layer_attention(look) for look in found.attention_traces)
        return cls(found.output.source, found.output.target, layers)

    def select_layers(self, kind: str = "cross") -> tuple[LayerAttention, ...]:
        """The layers of one kind, the lowest first; ConfigError if there are none."""
        if kind not in ATTENTION_KINDS:
            raise ConfigError(
                f"attention of {kind!r}", remedy=f"choose {', '.join(ATTENTION_KINDS)}"
            )
        layers = tuple(layer for layer in self.layers if layer.kind == kind)
        if not layers:
            if not self.layers:
                raise ConfigError(
                    "this model has no attention",
                    remedy=Remedy("see with {} what mattered", Setting("show", "gradients")),
                )
            raise ConfigError(
                f"this model has no {_describe_kind(kind)}",
                remedy=f"look at {' or '.join(self.kinds)}",
            )
        return layers

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention in this model, the default first."""
        return tuple(
            name for name in ATTENTION_KINDS if any(layer.kind == name for layer in self.layers)
        )

    def select_map(
        self, kind: str = "cross", *, layer: int | None = None, head: int | None = None
    ) -> AttentionMap:
        """The map of a layer, by default the last, and of a head, by default their mean."""
        found = self.select_layer(kind, layer)
        return found.mean() if head is None else found.head(head)

    def select_layer(self, kind: str = "cross", layer: int | None = None) -> LayerAttention:
        """The layer of this number, by default the last."""
        layers = self.select_layers(kind)
        numbers = [each.layer for each in layers]
        if layer is not None and layer not in numbers:
            raise ConfigError(
                f"there is no layer {layer} with {_describe_kind(kind)}",
                remedy=f"choose {', '.join(map(str, numbers))}",
            )
        return layers[-1 if layer is None else numbers.index(layer)]

    def head_maps(self, kind: str = "cross") -> "HeadMaps":
        """Every layer and head of one kind, side by side."""
        return HeadMaps(self.select_layers(kind))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "layers": [layer.as_dict() for layer in self.layers],
        }


@dataclass(frozen=True, eq=False)
class HeadMaps(Displayed):
    """Layers of one kind, with a map for each head."""

    layers: tuple[LayerAttention, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"layers": [layer.as_dict() for layer in self.layers]}


def attention_of(model: Predictor, said: ExplainedOutput) -> Attentions:
    """The weights of every layer and head for this output."""
    return Attentions.from_trace(trace_output(model.network, said))


def attention_over_media(
    model: Predictor, said: ExplainedOutput, *, layer: int | None = None, head: int | None = None
) -> MediaAttention:
    """Attention over the picture, recording or video of this output."""
    return attention_from_trace(trace_output(model.network, said), layer=layer, head=head)


def attention_from_trace(
    found: Trace, *, layer: int | None = None, head: int | None = None
) -> MediaAttention:
    """The same attention, from a trace; ConfigError if the model has none over its source."""
    weights = Attentions.from_trace(found).select_map(layer=layer, head=head).weights
    return found.output.attention_over_source(weights)


def _layer_attention(look: AttentionTrace) -> LayerAttention:
    of = next(name for name, what in ATTENTION_KINDS.items() if what == (look.side, look.kind))
    return LayerAttention(of, look.layer, look.rows, look.columns, look.weights.double().numpy())


def _describe_kind(kind: str) -> str:
    return "attention to the source" if kind == "cross" else f"self-attention in the {kind}"


def cross_map(found: Trace) -> AttentionMap | None:
    """The last layer's mean attention to the source, if there is any."""
    maps = layer_maps(found, "cross")
    return maps[-1] if maps else None


def layer_maps(found: Trace, kind: str) -> list[AttentionMap]:
    """Each layer's mean attention of one kind."""
    return [
        _layer_attention(look).mean()
        for look in found.attention_traces
        if (look.side, look.kind) == ATTENTION_KINDS[kind]
    ]


def attribute_by_attention(network: Network, found: Trace) -> np.ndarray | None:
    """Attention weights over the source and the decoder's inputs, for each output.

    None if the source is not symbols, or the model has no suitable attention.
    """
    if found.output.feature_groups is not None:
        return None
    maps = {kind: layer_maps(found, kind) for kind in ATTENTION_KINDS}
    return found.output.attention_over_inputs(maps, pooling_of(network))
