"""How every layer and every head looked, at the source and at its own sequence (S4.6, S9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.errors import ConfigError
from seqloom.explain.attention_map import (
    AttentionMap,
    render_text,
    round_values,
    scale_top,
    tick_label,
)
from seqloom.explain.explained_output import Cell, output_to_explain
from seqloom.explain.tracing import AttentionTrace, Trace, trace_output
from seqloom.prediction import Output, Predictor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "ATTENTION_KINDS",
    "Attentions",
    "HeadMaps",
    "LayerAttention",
    "attention_of",
    "cross_map",
    "layer_maps",
]

ATTENTION_KINDS = {
    "cross": ("decoder", "cross"),
    "encoder": ("encoder", "self"),
    "decoder": ("decoder", "self"),
}  # the words for who looks: the decoder at the source, or a side at itself


@dataclass(frozen=True, eq=False)
class LayerAttention:
    """The weights of one layer: (H, T, S), each row of which sums to 1."""

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
                f"layer {self.layer} has {len(self.weights)} heads and no head {number}: "
                f"choose 1 to {len(self.weights)}"
            )
        return AttentionMap(self.columns, self.rows, self.weights[number - 1])

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
    """All attention of one input and its output; none where the model has no such part."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    layers: tuple[LayerAttention, ...]

    @classmethod
    def from_trace(cls, found: Trace) -> "Attentions":
        """What a pass noted."""
        layers = tuple(_layer_attention(look) for look in found.attention_traces)
        return cls(found.output.source, found.output.target, layers)

    def select_layers(self, kind: str = "cross") -> tuple[LayerAttention, ...]:
        """The layers of one kind, the first first; ConfigError where there are none."""
        if kind not in ATTENTION_KINDS:
            raise ConfigError(f"attention of {kind!r}: choose {', '.join(ATTENTION_KINDS)}")
        layers = tuple(layer for layer in self.layers if layer.kind == kind)
        if not layers:
            if not self.layers:
                raise ConfigError(
                    "this model has no attention: --show gradients tells what mattered"
                )
            raise ConfigError(
                f"this model has no {_describe_kind(kind)}: look at {' or '.join(self.kinds)}"
            )
        return layers

    @property
    def kinds(self) -> tuple[str, ...]:
        """Who looks in this model: the first is what is seen where nothing else is asked for."""
        return tuple(
            name for name in ATTENTION_KINDS if any(layer.kind == name for layer in self.layers)
        )

    def select_map(
        self, kind: str = "cross", *, layer: int | None = None, head: int | None = None
    ) -> AttentionMap:
        """One map: of a layer, the last if none is named; of a head, or the mean over heads."""
        layers = self.select_layers(kind)
        numbers = [each.layer for each in layers]
        if layer is not None and layer not in numbers:
            raise ConfigError(
                f"there is no layer {layer} with {_describe_kind(kind)}: "
                f"choose {', '.join(map(str, numbers))}"
            )
        found = layers[-1 if layer is None else numbers.index(layer)]
        return found.mean() if head is None else found.head(head)

    def head_maps(self, kind: str = "cross") -> "HeadMaps":
        """Every layer and head of one kind, to be seen side by side."""
        return HeadMaps(self.select_layers(kind))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "layers": [layer.as_dict() for layer in self.layers],
        }


@dataclass(frozen=True, eq=False)
class HeadMaps:
    """Layers of one kind, a picture for each of their heads."""

    layers: tuple[LayerAttention, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"layers": [layer.as_dict() for layer in self.layers]}

    def text(self, width: int = 80) -> str:
        """A heat map for each layer and head, one below the other."""
        parts = []
        for layer in self.layers:
            for number in range(1, len(layer.weights) + 1):
                heading = f"layer {layer.layer}, head {number}"
                parts += [heading, render_text(layer.head(number), width), ""]
        return "\n".join(parts).rstrip()

    def drawing(self) -> Drawing:
        """A row of heat maps for each layer."""
        first = self.layers[0]
        return Drawing(
            tuple(map(tick_label, (*first.columns, *first.rows))), partial(_fill, self), 120
        )


def attention_of(model: Predictor, text: Cell, output: Output | str | None = None) -> Attentions:
    """The weights of every layer and head, for the model's own output or for a given one."""
    return Attentions.from_trace(
        trace_output(model.network, output_to_explain(model, text, output))
    )


def _layer_attention(look: AttentionTrace) -> LayerAttention:
    of = next(name for name, what in ATTENTION_KINDS.items() if what == (look.side, look.kind))
    return LayerAttention(of, look.layer, look.rows, look.columns, look.weights.double().numpy())


def _describe_kind(kind: str) -> str:
    return "attention to the source" if kind == "cross" else f"self-attention in the {kind}"


def _fill(heads: HeadMaps, figure: "Figure", labels: Sequence[str]) -> None:
    """Small maps in a grid, layers down and heads across, with labels at the rim alone."""
    first = heads.layers[0]
    columns, rows = labels[: len(first.columns)], labels[len(first.columns) :]
    across = max(len(layer.weights) for layer in heads.layers)
    cell = max(0.07, min(0.22, 2.6 / max(len(columns), len(rows))))
    size = max(1.1, cell * len(columns)), max(0.8, cell * len(rows))
    figure.set_size_inches(across * (size[0] + 0.15), len(heads.layers) * (size[1] + 0.3))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(heads.layers), across, squeeze=False)
    for layer, line in zip(heads.layers, grid, strict=True):
        for number, axes in enumerate(line):
            if number >= len(layer.weights):
                axes.set_axis_off()
                continue
            weights = layer.weights[number]
            axes.imshow(weights, cmap="Blues", vmin=0, vmax=scale_top(weights), aspect="auto")
            axes.set_title(f"layer {layer.layer}, head {number + 1}", fontsize=8, pad=4)
            _label_edges(
                axes, columns if layer is heads.layers[-1] else (), rows if not number else ()
            )
            axes.tick_params(length=0, labelsize=max(5.0, min(8.0, 45 * cell)))
            axes.spines[:].set_color("0.8")


def _label_edges(axes: "Axes", columns: Sequence[str], rows: Sequence[str]) -> None:
    """Labels below and on the left, where there are any."""
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)


def cross_map(found: Trace) -> AttentionMap | None:
    """The last layer's mean attention to the source, where there is any."""
    maps = layer_maps(found, "cross")
    return maps[-1] if maps else None


def layer_maps(found: Trace, kind: str) -> list[AttentionMap]:
    """Each layer's mean attention of one kind."""
    return [
        _layer_attention(look).mean()
        for look in found.attention_traces
        if (look.side, look.kind) == ATTENTION_KINDS[kind]
    ]
