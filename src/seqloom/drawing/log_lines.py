"""Gradient norms over time on a logarithmic axis or as bars, and gates as heat maps."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["fill_bars", "fill_gates", "fill_log_lines"]

FEW = 24  # steps up to which each has a marker
DECADES = 12  # at most
ROOM = 12  # symbols that fit side by side
TICKS = 60  # symbols labelled below a map


def fill_log_lines(axes: "Axes", lines: Mapping[str, np.ndarray]) -> None:
    """Draw lines on a logarithmic axis, with a legend."""
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
    """The powers of ten around the values that are not zero, at most `DECADES` apart."""
    powers = np.log10(sizes[sizes > 0])
    if not len(powers):
        return 0.1, 1.0
    high = math.floor(powers.max()) + 1
    return 10.0 ** max(math.floor(powers.min()), high - DECADES), 10.0**high


def fill_bars(axes: "Axes", sizes: np.ndarray, symbols: Sequence[str]) -> None:
    """Draw a bar for each symbol."""
    axes.bar(range(len(sizes)), sizes, color="#1f5fa8", width=0.7)
    _label_symbols(axes, symbols)
    axes.set_ylabel("size of ∂C/∂h")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0, labelsize=8)


def fill_gates(axes: "Axes", shares: np.ndarray, symbols: Sequence[str], name: str) -> None:
    """Draw the share (T, D) that each unit retains at each step, the first unit on top."""
    image = axes.imshow(
        shares.T, cmap="viridis", vmin=0, vmax=1, aspect="auto",
        interpolation="nearest",
    )  # fmt: skip
    axes.set_title(f"share kept, {name}", fontsize=10)
    axes.set_ylabel("units, by half-life", fontsize=9)
    _label_symbols(axes, symbols)
    axes.set_yticks([])
    axes.tick_params(length=0, labelsize=8)
    axes.figure.colorbar(image, ax=axes, pad=0.01)


def _label_symbols(axes: "Axes", symbols: Sequence[str]) -> None:
    """Label symbols below, as many as fit."""
    shown = range(0, len(symbols), -(-len(symbols) // TICKS))
    turned = 90 if len(symbols) > ROOM else 0
    axes.set_xticks(shown, [symbols[place] for place in shown], rotation=turned)
