"""What flows back and what is kept: gradient sizes, spectral radii and gates in one look (S6.8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len

from seqloom.errors import DataError
from seqloom.insight.attention import panels, terminal_label, tick
from seqloom.insight.examples import example_of
from seqloom.insight.gates import UnitGates, gates_over
from seqloom.insight.gradients import GradientFlow, fill_flows, gradient_flow
from seqloom.insight.passes import Pair, pair_of, pass_over
from seqloom.insight.picture import Drawing
from seqloom.prediction import Model, Output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Flow", "flow_of"]

BARS = " ▁▂▃▄▅▆▇█"
FEW = 12  # symbols that have room side by side
DECADES = 6  # that a bar in the terminal spans


@dataclass(frozen=True, eq=False)
class Flow:
    """The gradient at every state, and what gates kept, over some inputs and their outputs."""

    pairs: tuple[Pair, ...]
    gradients: GradientFlow
    gates: tuple[UnitGates, ...]  # none where no unit has gates

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "pairs": [{"source": list(p.source), "target": list(p.target)} for p in self.pairs],
            **self.gradients.as_dict(),
            "gates": [unit.as_dict() for unit in self.gates],
        }

    def text(self, width: int = 80) -> str:
        """A bar for each distance, from a millionth of the largest up; then radii and gates."""
        lines = ["size of ∂C/∂h, from the last step back"] if self.gradients.units else []
        for place, flow in self.gradients.named().items():
            sizes = flow.by_distance()
            ends = f"last {sizes[0]:.2g}, first {sizes[-1]:.2g}"
            lines.append(f"{place}: {ends}")
            lines.append(f"  {_bars(sizes)[: max(1, width - 2)]}")
            radii = ", ".join(f"{gate} {radius:.2f}" for gate, radius in flow.radii.items())
            lines += [f"  spectral radius: {radii}"] if radii else []
        if self.gradients.memory is not None:
            lines += ["size of ∂C/∂h at the states handed to the decoder"]
            for pair, sizes in zip(self.pairs, self.gradients.memory, strict=True):
                shown = zip(pair.source, sizes, strict=True)
                words = [f"{terminal_label(symbol)} {size:.2g}" for symbol, size in shown]
                lines += [
                    "  " + "  ".join(words[i] for i in some)
                    for some in panels([cell_len(word) + 1 for word in words], width)
                ]
        for unit in self.gates:
            lines += unit.lines()
        return "\n".join(lines)

    def drawing(self) -> Drawing:
        """Sizes by distance or by source position, and below them a map of each unit's gate."""
        first = self.pairs[0]
        labels = tuple(map(tick, (*first.source, *(s for g in self.gates for s in g.symbols[0]))))
        return Drawing(labels, partial(_fill, self), 120)


def flow_of(model: Model, rows: Sequence[tuple[str, Output | str | None]]) -> Flow:
    """What flows back from the outputs of these inputs, the model's own where none is given."""
    if not rows:
        raise DataError("there is nothing to look at: give at least one input")
    texts = []
    for text, output in rows:
        written = model.predict([text])[0] if output is None else output
        texts.append((text, written if isinstance(written, str) else written.text))
    pairs = tuple(pair_of(model, *each) for each in texts)
    gradients = gradient_flow(model.network, example_of(model, texts))
    return Flow(pairs, gradients, gates_over([pass_over(model.network, pair) for pair in pairs]))


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
    source, rest = labels[: len(flow.pairs[0].source)], list(labels[len(flow.pairs[0].source) :])
    across = max(len(source), *(len(unit.symbols[0]) for unit in flow.gates), 12)
    figure.set_size_inches(max(6.4, min(30, 0.28 * across)), 3.0 + 2.0 * len(flow.gates))
    figure.set_layout_engine("constrained")
    first, *others = figure.subplots(1 + len(flow.gates), 1, squeeze=False)[:, 0]
    if flow.gradients.units:
        lines = {name: unit.by_distance() for name, unit in flow.gradients.named().items()}
        fill_flows(first, lines)
        first.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8)
    elif flow.gradients.memory is not None:
        _bar_chart(first, flow.gradients.memory[0], source)
    for axes, unit in zip(others, flow.gates, strict=True):
        symbols, rest = rest[: len(unit.symbols[0])], rest[len(unit.symbols[0]) :]
        _gate_map(axes, unit, symbols)


def _bar_chart(axes: "Axes", sizes: np.ndarray, symbols: Sequence[str]) -> None:
    axes.bar(range(len(sizes)), sizes, color="#1f5fa8", width=0.7)
    axes.set_xticks(range(len(symbols)), symbols, rotation=90 if len(symbols) > FEW else 0)
    axes.set_ylabel("size of ∂C/∂h")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0, labelsize=8)


def _gate_map(axes: "Axes", unit: UnitGates, symbols: Sequence[str]) -> None:
    """The share that each unit keeps at each step of the first input, the longest-lived on top."""
    order = np.argsort(-unit.half_lives(), kind="stable")
    image = axes.imshow(
        unit.kept[0][:, order].T, cmap="viridis", vmin=0, vmax=1, aspect="auto",
        interpolation="nearest",
    )  # fmt: skip
    axes.set_title(f"share kept, {unit.place}", fontsize=10)
    axes.set_ylabel("units, by half-life", fontsize=9)
    axes.set_xticks(range(len(symbols)), symbols, rotation=90 if len(symbols) > FEW else 0)
    axes.set_yticks([])
    axes.tick_params(length=0, labelsize=8)
    axes.figure.colorbar(image, ax=axes, pad=0.01)
