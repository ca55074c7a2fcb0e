"""Attention as threads between two sentences: the heavier a weight, the thicker its thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.explain.attention_map import AttentionMap, terminal_label, tick_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Threads"]

LEAST_WEIGHT = 0.04  # weights below this have no thread
SHOWN = 3  # threads of a token in the terminal
SIDE_SPACING = 1.0  # in which a curve swings from one side to the other


@dataclass(frozen=True, eq=False)
class Threads:
    """An attention map as the threads that it is made of."""

    attention: AttentionMap

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the map, and each thread from source to output position."""
        rows, columns = np.nonzero(self.attention.weights >= LEAST_WEIGHT)
        threads = [
            {"source": int(s), "target": int(t), "weight": float(self.attention.weights[t, s])}
            for t, s in zip(rows, columns, strict=True)
        ]
        return {**self.attention.as_dict(), "threads": threads}

    def text(self, width: int = 80) -> str:
        """For each output token the source tokens that it hangs on, the heaviest first."""
        lines = []
        for token, weights in zip(self.attention.target, self.attention.weights, strict=True):
            order = np.argsort(-weights, kind="stable")[:SHOWN]
            parts = [
                f"{terminal_label(self.attention.source[s])} {weights[s]:.2f}"
                for s in order
                if weights[s] >= LEAST_WEIGHT
            ]
            lines.append(f"{terminal_label(token)} ← {', '.join(parts)}"[:width])
        return "\n".join(lines)

    def drawing(self) -> Drawing:
        """Source on the left, output on the right, threads between them."""
        labels = tuple(map(tick_label, (*self.attention.source, *self.attention.target)))
        return Drawing(labels, partial(_fill, self.attention), 130)


def _fill(attention: AttentionMap, figure: "Figure", labels: Sequence[str]) -> None:
    from matplotlib.collections import LineCollection

    source, target = labels[: len(attention.source)], labels[len(attention.source) :]
    longest = max(len(source), len(target))
    line = max(0.16, min(0.32, 9 / longest))
    figure.set_size_inches(3.6, max(0.8, line * longest))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, SIDE_SPACING)
    axes.set_ylim(longest - 0.5, -0.5)
    left, right = _spread(len(source), longest), _spread(len(target), longest)
    swing = np.linspace(0, 1, 40)
    bend = swing**2 * (3 - 2 * swing)
    heavy = [(t, s) for t, s in np.argwhere(attention.weights >= LEAST_WEIGHT).tolist()]
    heavy.sort(key=lambda place: attention.weights[tuple(place)])
    curves = [
        np.column_stack([swing * SIDE_SPACING, left[s] + (right[t] - left[s]) * bend])
        for t, s in heavy
    ]
    weights = np.array([attention.weights[t, s] for t, s in heavy])
    colors = [(0.12, 0.37, 0.66, 0.15 + 0.75 * weight) for weight in weights]
    axes.add_collection(LineCollection(curves, linewidths=0.4 + 5 * weights, colors=colors))
    letters = max(6.0, min(11.0, 34 * line))
    for heights, words, place, side in (
        (left, source, -0.02, "right"),
        (right, target, 1.02, "left"),
    ):
        for height, word in zip(heights, words, strict=True):
            axes.text(place * SIDE_SPACING, height, word, ha=side, va="center", fontsize=letters)


def _spread(count: int, room: int) -> np.ndarray:
    """Heights for so many labels, evenly over the whole."""
    if count == 1:
        return np.array([(room - 1) / 2])
    return np.linspace(0, room - 1, count)
