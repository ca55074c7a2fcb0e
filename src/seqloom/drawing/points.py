"""Labels beside points, as many as do not overlap."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["annotate_points"]

POINTS = 8  # font size
Box = tuple[float, float, float, float]


def annotate_points(axes: "Axes", places: np.ndarray, sentences: Sequence[str]) -> None:
    """Each sentence beside its point, where no other stands; else it is left out."""
    axes.figure.canvas.draw()
    taken: list[Box] = []
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
