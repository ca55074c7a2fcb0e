"""Two sentences with threads between their words, as thick as their weights."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["fill_threads"]

SIDE_SPACING = 1.0  # width of a thread's bend between the sides


def fill_threads(
    weights: np.ndarray,
    threads: Sequence[tuple[int, int]],
    figure: "Figure",
    labels: Sequence[str],
) -> None:
    """Draw the source on the left, the target on the right, and threads between positions (target,
    source).

    Labels are of the source, then of the target; the weights are (T, S).
    """
    from matplotlib.collections import LineCollection

    source, target = labels[: weights.shape[1]], labels[weights.shape[1] :]
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
    order = sorted(threads, key=lambda thread: weights[thread])
    curves = [
        np.column_stack([swing * SIDE_SPACING, left[s] + (right[t] - left[s]) * bend])
        for t, s in order
    ]
    heavy = np.array([weights[thread] for thread in order])
    colors = [(0.12, 0.37, 0.66, 0.15 + 0.75 * weight) for weight in heavy]
    axes.add_collection(LineCollection(curves, linewidths=0.4 + 5 * heavy, colors=colors))
    letters = max(6.0, min(11.0, 34 * line))
    for heights, words, place, side in (
        (left, source, -0.02, "right"),
        (right, target, 1.02, "left"),
    ):
        for height, word in zip(heights, words, strict=True):
            axes.text(place * SIDE_SPACING, height, word, ha=side, va="center", fontsize=letters)


def _spread(count: int, room: int) -> np.ndarray:
    """Evenly spaced heights for these labels."""
    if count == 1:
        return np.array([(room - 1) / 2])
    return np.linspace(0, room - 1, count)
