"""What flows back and what is kept: gradient sizes, spectral radii and gates in one look (S6.8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rich.cells import cell_len
from torch import Tensor

from seqloom.drawing.image_files import Drawing
from seqloom.errors import ConfigError, DataError
from seqloom.explain.attention_map import panels, terminal_label, tick_label, wrap_lines
from seqloom.explain.explained_output import (
    ExplainedBlanks,
    ExplainedLabels,
    ExplainedOutput,
    ExplainedText,
    output_to_explain,
)
from seqloom.explain.gates import UnitGates, collect_gates
from seqloom.explain.gradients import (
    CostFunction,
    GradientFlow,
    fill_flows,
    gradient_flow,
    mean_cross_entropy,
)
from seqloom.explain.tracing import position_labels, trace_output
from seqloom.fields import EMPTY
from seqloom.model import Head, Memory
from seqloom.prediction import Output, Predictor
from seqloom.prediction.inputs import pad_batch
from seqloom.training import Example

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Flow", "flow_of"]

BARS = " ▁▂▃▄▅▆▇█"
FEW = 12  # symbols that have room side by side
TICKS = 60  # symbols that are written below a map
DECADES = 6  # that a bar in the terminal spans
COSTS = {
    "log p": "the mean of −log p over what is said",
    "number": "the number, in units of its spread",
    "mean forecast": "the mean of the forecast, in units of its spread",
}  # by the quantity that is explained elsewhere


@dataclass(frozen=True, eq=False)
class Flow:
    """The gradient at every state, and what gates kept, over some inputs and their outputs."""

    outputs: tuple[ExplainedOutput, ...]
    gradients: GradientFlow
    gates: tuple[UnitGates, ...]  # none where no unit has gates

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "cost": COSTS[self.outputs[0].quantity],
            "pairs": [{"source": list(p.source), "target": list(p.target)} for p in self.outputs],
            **self.gradients.as_dict(),
            "gates": [unit.as_dict() for unit in self.gates],
        }

    def text(self, width: int = 80) -> str:
        """A bar for each distance, from a millionth of the largest up; then radii and gates."""
        lines = [f"C is {COSTS[self.outputs[0].quantity]}"]
        lines += ["size of ∂C/∂h, from the last step back"] if self.gradients.units else []
        for place, flow in self.gradients.by_location().items():
            sizes = flow.by_distance()
            ends = f"last {sizes[0]:.2g}, first {sizes[-1]:.2g}"
            lines.append(f"{place}: {ends}")
            lines.append(f"  {_bars(sizes)[: max(1, width - 2)]}")
            radii = ", ".join(f"{gate} {radius:.2f}" for gate, radius in flow.radii.items())
            lines += [f"  spectral radius: {radii}"] if radii else []
        if self.gradients.memory is not None:
            lines += ["size of ∂C/∂h at the states handed on by the encoder"]
            for names, sizes in zip(self.memory_labels(), self.gradients.memory, strict=True):
                shown = zip(names, sizes, strict=True)
                words = [f"{terminal_label(symbol)} {size:.2g}" for symbol, size in shown]
                lines += [
                    "  " + "  ".join(words[i] for i in some)
                    for some in panels([cell_len(word) + 1 for word in words], width)
                ]
        for unit in self.gates:
            lines += unit.lines()
        return wrap_lines(lines, width)

    def drawing(self) -> Drawing:
        """Sizes by distance or by source position, and below them a map of each unit's gate."""
        first = self.memory_labels()[0]
        labels = tuple(map(tick_label, (*first, *(s for g in self.gates for s in g.symbols[0]))))
        return Drawing(labels, partial(_fill, self), 120)

    def memory_labels(self) -> list[tuple[str, ...]]:
        """The positions of each source that the encoder hands on."""
        if self.gradients.memory is None:
            return [said.source for said in self.outputs]
        return [
            position_labels(said.source, len(sizes))
            for said, sizes in zip(self.outputs, self.gradients.memory, strict=True)
        ]


def flow_of(model: Predictor, rows: Sequence[tuple[str, Output | str | None]]) -> Flow:
    """What flows back from what is said of these inputs, by the model where nothing is given."""
    if not rows:
        raise DataError("there is nothing to look at: give at least one input")
    said = tuple(output_to_explain(model, *row) for row in rows)
    source = pad_batch([each.values for each in said])
    gradients = gradient_flow(model.network, Example(source, _targets(said)), cost=_cost(said[0]))
    if not gradients.units and gradients.memory is None:
        raise ConfigError(
            "nothing flows back through time here, as no part is recurrent and no encoder hands on "
            "states: try --show gradients, attention or steps"
        )
    return Flow(
        said, gradients, collect_gates([trace_output(model.network, each) for each in said])
    )


def _targets(said: Sequence[ExplainedOutput]) -> Tensor:
    """What is said as ids; as numbers, which the cost does not look at, where it is not symbols."""
    rows = [row for each in said if (row := _ids(each)) is not None]
    return pad_batch(rows).values if len(rows) == len(said) else torch.zeros(len(said), 1, 1)


def _ids(said: ExplainedOutput) -> np.ndarray | None:
    match said:
        case ExplainedBlanks():
            return said.target_row()
        case ExplainedText() | ExplainedLabels():
            return np.array(said.target_ids, np.int32)
        case _:
            return None


def _cost(said: ExplainedOutput) -> CostFunction:
    match said:
        case ExplainedText():
            return mean_cross_entropy
        case ExplainedLabels():
            return _label_cost
        case ExplainedBlanks():
            return partial(_blank_cost, said)
        case _:
            return partial(_number_cost, len(said.target))


def _label_cost(head: Head, memory: Memory, target: Tensor) -> Tensor:
    """The mean of −log p over the labels of each input."""
    logs = head(memory)[:, : target.shape[1]].log_softmax(-1)
    return _mean_surprisal(logs, (target - 1).clamp(min=0), target.ne(EMPTY))


def _blank_cost(said: ExplainedBlanks, head: Head, memory: Memory, target: Tensor) -> Tensor:
    """The same over the gaps of each input; their ids are those of the vocabulary."""
    return _mean_surprisal(said.log_probabilities(head(memory)), target, target.ne(EMPTY))


def _mean_surprisal(logs: Tensor, ids: Tensor, real: Tensor) -> Tensor:
    found = logs.gather(2, ids[:, :, None]).squeeze(2).masked_fill(~real, 0.0)
    cost: Tensor = -found.sum(dim=1) / real.sum(dim=1)
    return cost


def _number_cost(columns: int, head: Head, memory: Memory, _target: Tensor) -> Tensor:
    """The mean of all numbers that are given for each input, in units of their spread."""
    cost: Tensor = head(memory).unflatten(2, (columns, -1))[..., 0].mean(dim=(1, 2))
    return cost


def _bars(sizes: np.ndarray) -> str:
    """One block for each size, on a logarithmic scale."""
    most = sizes.max()
    if most == 0:
        return BARS[0] * len(sizes)
    with np.errstate(divide="ignore"):
        heights = 1 + np.log10(sizes / most) / DECADES
    steps = np.clip(np.ceil(heights * (len(BARS) - 1)), 0, len(BARS) - 1).astype(int)
    return "".join(BARS[step] for step in steps)


def _fill(flow: Flow, figure: "Figure", labels: Sequence[str]) -> None:
    count = len(flow.memory_labels()[0])
    source, rest = labels[:count], list(labels[count:])
    across = max(len(source), *(len(unit.symbols[0]) for unit in flow.gates), 12)
    figure.set_size_inches(max(6.4, min(30, 0.28 * across)), 3.0 + 2.0 * len(flow.gates))
    figure.set_layout_engine("constrained")
    first, *others = figure.subplots(1 + len(flow.gates), 1, squeeze=False)[:, 0]
    if flow.gradients.units:
        lines = {name: unit.by_distance() for name, unit in flow.gradients.by_location().items()}
        fill_flows(first, lines)
        first.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8)
    elif flow.gradients.memory is not None:
        _bar_chart(first, flow.gradients.memory[0], source)
    for axes, unit in zip(others, flow.gates, strict=True):
        symbols, rest = rest[: len(unit.symbols[0])], rest[len(unit.symbols[0]) :]
        _gate_map(axes, unit, symbols)


def _bar_chart(axes: "Axes", sizes: np.ndarray, symbols: Sequence[str]) -> None:
    axes.bar(range(len(sizes)), sizes, color="#1f5fa8", width=0.7)
    _label_symbols(axes, symbols)
    axes.set_ylabel("size of ∂C/∂h")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0, labelsize=8)


def _gate_map(axes: "Axes", unit: UnitGates, symbols: Sequence[str]) -> None:
    """The share that each unit keeps at each step of the first input, the longest-lived on top."""
    order = np.argsort(-unit.half_lives(), kind="stable")
    image = axes.imshow(
        unit.retention[0][:, order].T, cmap="viridis", vmin=0, vmax=1, aspect="auto",
        interpolation="nearest",
    )  # fmt: skip
    axes.set_title(f"share kept, {unit.location}", fontsize=10)
    axes.set_ylabel("units, by half-life", fontsize=9)
    _label_symbols(axes, symbols)
    axes.set_yticks([])
    axes.tick_params(length=0, labelsize=8)
    axes.figure.colorbar(image, ax=axes, pad=0.01)


def _label_symbols(axes: "Axes", symbols: Sequence[str]) -> None:
    """Symbols below, as many as there is room for."""
    shown = range(0, len(symbols), -(-len(symbols) // TICKS))
    turned = 90 if len(symbols) > FEW else 0
    axes.set_xticks(shown, [symbols[place] for place in shown], rotation=turned)
