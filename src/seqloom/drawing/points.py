"""Scatter plots with as many labels as fit without overlap."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["fill_points"]

POINTS = 8  # font size
COLOURS = 10
MOST_LABELS = 80  # points up to which each is labelled
Box = tuple[float, float, float, float]


def fill_points(
    places: np.ndarray,
    kinds: Sequence[int | None],
    axes: Sequence[str],
    figure: "Figure",
    labels: Sequence[str],
) -> None:
    """Draw a dot for each place (N, 2), in the colour of its kind; the axes may have names.

    Labels are of the points, which are omitted if there are many, then of the kinds.
    """
    names, legend = labels[: len(places)], labels[len(places) :]
    figure.set_size_inches(8, 6)
    plot = figure.add_subplot()
    colours = ["#1f5fa8" if kind is None else f"C{kind % COLOURS}" for kind in kinds]
    plot.scatter(places[:, 0], places[:, 1], c=colours, s=18, zorder=3)
    for number, name in enumerate(legend):
        plot.scatter([], [], color=f"C{number % COLOURS}", s=18, label=name)
    if legend:
        plot.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=6)
    plot.set_xlabel(axes[0] if axes else "")
    plot.set_ylabel(axes[1] if len(axes) > 1 else "")
    plot.tick_params(labelsize=8)
    plot.spines[["top", "right"]].set_visible(False)
    plot.margins(0.12)
    if len(names) <= MOST_LABELS:
        _annotate_points(plot, places, names)


def _annotate_points(axes: "Axes", places: np.ndarray, sentences: Sequence[str]) -> None:
    """Label each point unless the label would overlap another or cross the left axis."""
    axes.figure.canvas.draw()
    taken: list[Box] = [(-math.inf, -math.inf, axes.bbox.x0, math.inf)]
    points = axes.transData.transform(places)
    dots = axes.figure.dpi / 72
    height = 1.25 * POINTS * dots
    for (x, y), place, sentence in zip(points, places, sentences, strict=True):
        width = 0.58 * POINTS * dots * cell_len(sentence)
        for left, low in (
            (7, -height / 2),
            (-7 - width, -height / 2),
            (-width / 2, 6),
            (-width / 2, -6 - height),
        ):
            box = (x + left, y + low, x + left + width, y + low + height)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                offset = (left / dots, (low + height / 2) / dots)
                axes.annotate(
                    sentence,
                    place,
                    offset,
                    textcoords="offset points",
                    fontsize=POINTS,
                    va="center",
                )
                break


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
