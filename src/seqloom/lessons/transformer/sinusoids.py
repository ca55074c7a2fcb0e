"""Sinusoidal position encodings, and the difference of two neighbours."""

import numpy as np
import torch

from seqloom.explanations.position_vectors import PositionMap, PositionMaps
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.positions import sinusoids

__all__ = ["sinusoids_lesson"]


@lesson("sinusoids", "Chapter 7: Figure 7.14", "Chapter 7: (7.29)", chapter="transformer")
def sinusoids_lesson(
    *, size: int = 768, positions: int = 60, first: int = 50, shown: int = 200
) -> LessonResult:
    """Sines and cosines of 60 positions, and the difference of two neighbours."""
    small = sinusoids(torch.tensor([1]), 4)[0]
    table = sinusoids(torch.arange(1, positions + 1), size)
    step = table[first] - table[first - 1]
    apart = step.abs().numpy()
    view = PositionMap(
        "figure", "sines and cosines", table[:, :shown].numpy(), pair=(first + 1, first)
    )
    said = f"t = 1 … {positions}, the first {shown} of {size} values; r_{first + 1} − r_{first}"
    return LessonResult(
        (
            ComparedNumber(
                "r_1 with 4 values", (0.841471, 0.540302, 0.00999983, 0.99995),
                tuple(small.tolist()), 5e-7, by_hand=True,
            ),
            ComparedNumber("‖r_51 − r_50‖", 4.523235, float(step.norm()), 5e-7, by_hand=True),
            ComparedNumber("‖r_t‖²", 384, float(table[0].square().sum()), 1e-9, by_hand=True),
            ComparedNumber("largest difference", 0.933, float(apart.max()), 5e-4, by_hand=True),
            ComparedNumber("last that differs by over .3", 98, _last(apart, 0.3), by_hand=True),
            ComparedNumber("last that differs by over .1", 180, _last(apart, 0.1), by_hand=True),
            ComparedNumber("positions and values in the figure", (60, 200), view.table.shape),
        ),
        said,
        PositionMaps((view,)),
    )  # fmt: skip


def _last(apart: np.ndarray, bound: float) -> int:
    """The last index, counted from 0 as on the figure's axis."""
    return int(np.flatnonzero(apart > bound).max(initial=-1))
