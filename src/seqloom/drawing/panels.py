"""Panels of lines or bars over common steps, stacked vertically."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Panel", "fill_panels"]

FEW = 12  # labels that fit side by side


class Panel(NamedTuple):
    """Lines by name, or a single series of bars."""

    title: str
    lines: Mapping[str, np.ndarray]
    bars: bool = False
    limits: tuple[float, float] | None = None  # of the value axis
    legend: bool = False


def fill_panels(panels: Sequence[Panel], figure: "Figure", labels: Sequence[str]) -> None:
    """Draw all panels over the labelled steps."""
    figure.set_size_inches(max(5.0, min(40.0, 0.5 * len(labels) + 2.5)), 1.7 * len(panels))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(grid, panels, strict=True):
        for name, values in panel.lines.items():
            if panel.bars:
                axes.bar(range(len(values)), values, color="#1f5fa8", width=0.6)
            else:
                axes.plot(values, marker=".", label=name or None)
        if panel.limits is not None:
            axes.set_ylim(*panel.limits)
        axes.set_ylabel(panel.title, fontsize=9)
    for axes, panel in zip(grid, panels, strict=True):
        if panel.legend:
            axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    grid[-1].set_xticks(range(len(labels)), labels, rotation=90 if len(labels) > FEW else 0)
