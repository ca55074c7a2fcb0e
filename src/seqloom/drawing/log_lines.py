"""Gradient norms over the steps before the last, on a logarithmic axis."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["fill_log_lines"]

FEW = 24  # steps, up to which each is marked in a picture
DECADES = 12  # shown at most


def fill_log_lines(axes: "Axes", lines: Mapping[str, np.ndarray]) -> None:
    """Lines over a logarithmic axis, and a legend."""
    from matplotlib.ticker import MaxNLocator, NullFormatter

    for label, sizes in lines.items():
        marker = "." if len(sizes) <= FEW else ""
        axes.plot(np.where(sizes > 0, sizes, np.nan), marker=marker, linewidth=1.8, label=label)
    axes.set_xlim(-0.5, max(map(len, lines.values())) - 0.5)
    axes.set_yscale("log")
    axes.set_ylim(*_decades(np.concatenate([*lines.values()])))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(lambda size, _: f"{size:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("steps before the last")
    axes.set_ylabel("size of ∂C/∂h")
    axes.legend(frameon=False, fontsize=9)
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)


def _decades(sizes: np.ndarray) -> tuple[float, float]:
    """The powers of ten around what is not zero, at most `DECADES` apart."""
    powers = np.log10(sizes[sizes > 0])
    if not len(powers):
        return 0.1, 1.0
    high = math.floor(powers.max()) + 1
    return 10.0 ** max(math.floor(powers.min()), high - DECADES), 10.0**high
