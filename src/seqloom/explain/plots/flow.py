"""Gradient norms and gates as bars, lines and maps."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.log_lines import fill_bars, fill_gates, fill_log_lines
from seqloom.drawing.views import drawing_of, text_of
from seqloom.errors import DataError
from seqloom.explain.plots.terminal import panels, terminal_label, wrap_lines
from seqloom.explanations.flow import Flow, UnitGates
from seqloom.explanations.gradients import UnitFlow
from seqloom.explanations.plain_values import tick_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_flow", "draw_flows", "flow_text"]

BARS = " ▁▂▃▄▅▆▇█"
DECADES = 6  # of a bar in the terminal


@text_of.register
def flow_text(found: Flow, width: int = 80) -> str:
    """A bar for each distance, on a scale of six decades; then spectral radii and gates."""
    lines = [f"C is {found.cost}"]
    lines += ["size of ∂C/∂h, from the last step back"] if found.gradients.units else []
    for place, flow in found.gradients.by_location().items():
        sizes = flow.by_distance()
        ends = f"last {sizes[0]:.2g}, first {sizes[-1]:.2g}"
        lines.append(f"{place}: {ends}")
        lines.append(f"  {_bars(sizes)[: max(1, width - 2)]}")
        cells = flow.cells_by_distance()
        if cells is not None:
            lines.append(f"  ∂C/∂c of the memory cell: last {cells[0]:.2g}, first {cells[-1]:.2g}")
            lines.append(f"  {_bars(cells)[: max(1, width - 2)]}")
        radii = ", ".join(f"{gate} {radius:.2f}" for gate, radius in flow.radii.items())
        lines += [f"  spectral radius: {radii}"] if radii else []
    if found.gradients.memory is not None:
        lines += ["size of ∂C/∂h at the states handed on by the encoder"]
        for names, sizes in zip(found.memory_labels(), found.gradients.memory, strict=True):
            shown = zip(names, sizes, strict=True)
            words = [f"{terminal_label(symbol)} {size:.2g}" for symbol, size in shown]
            lines += [
                "  " + "  ".join(words[i] for i in some)
                for some in panels([cell_len(word) + 1 for word in words], width)
            ]
    for unit in found.gates:
        lines += _gate_lines(unit)
    return wrap_lines(lines, width)


def _gate_lines(unit: UnitGates) -> list[str]:
    """The means over all units, and the units with the longest half-lives."""
    means = ", ".join(f"{name} {mean.mean():.2f}" for name, mean in unit.means().items())
    lives = ", ".join(f"{number} ({life:.1f})" for number, life in unit.longest_lived())
    return [f"{unit.location}: mean {means}", f"  longest half-lives in steps: unit {lives}"]


def _bars(sizes: np.ndarray) -> str:
    """One block per size, on a logarithmic scale."""
    most = sizes.max()
    if most == 0:
        return BARS[0] * len(sizes)
    with np.errstate(divide="ignore"):
        heights = 1 + np.log10(sizes / most) / DECADES
    steps = np.clip(np.ceil(heights * (len(BARS) - 1)), 0, len(BARS) - 1).astype(int)
    return "".join(BARS[step] for step in steps)


@drawing_of.register
def draw_flow(flow: Flow) -> Drawing:
    """Draw sizes by distance or by source position, and below them a map of each unit's gate."""
    first = flow.memory_labels()[0]
    labels = tuple(map(tick_label, (*first, *(s for g in flow.gates for s in g.symbols[0]))))
    return Drawing(labels, partial(_fill, flow), 120)


def _fill(flow: Flow, figure: "Figure", labels: Sequence[str]) -> None:
    count = len(flow.memory_labels()[0])
    source, rest = labels[:count], list(labels[count:])
    across = max(len(source), *(len(unit.symbols[0]) for unit in flow.gates), 12)
    figure.set_size_inches(max(6.4, min(30, 0.28 * across)), 3.0 + 2.0 * len(flow.gates))
    figure.set_layout_engine("constrained")
    first, *others = figure.subplots(1 + len(flow.gates), 1, squeeze=False)[:, 0]
    if flow.gradients.units:
        lines = {}
        for name, part in flow.gradients.by_location().items():
            lines[name] = part.by_distance()
            cells = part.cells_by_distance()
            lines |= {} if cells is None else {f"{name}, cell": cells}
        fill_log_lines(first, lines)
        first.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8)
    elif flow.gradients.memory is not None:
        fill_bars(first, flow.gradients.memory[0], source)
    for axes, unit in zip(others, flow.gates, strict=True):
        symbols, rest = rest[: len(unit.symbols[0])], rest[len(unit.symbols[0]) :]
        order = np.argsort(-unit.half_lives(), kind="stable")
        fill_gates(axes, unit.retention[0][:, order], symbols, str(unit.location))


def draw_flows(flows: Mapping[str, UnitFlow], path: Path) -> None:
    """Draw ∥∂C/∂h_t∥ against the distance from the end as PNG or SVG, with a line per unit.

    Values below a trillionth of the largest are cut off.
    """
    if not flows:
        raise DataError(
            "nothing recurrent is there to draw", place=path, remedy="give at least one unit's flow"
        )
    Drawing(tuple(flows), partial(_fill_units, [*flows.values()])).save(path)


def _fill_units(flows: Sequence[UnitFlow], figure: "Figure", labels: Sequence[str]) -> None:
    figure.set_size_inches(6.4, 3.6)
    lines = {label: flow.by_distance() for label, flow in zip(labels, flows, strict=True)}
    fill_log_lines(figure.add_subplot(), lines)
