"""Reliability diagrams: accuracy by confidence."""

from typing import TYPE_CHECKING

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of
from seqloom.metrics import Reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_reliability"]

BLUE, ORANGE, GREY = "#1f5fa8", "#c8641e", "#6b6b6b"


@text_of.register
def reliability_text(reliability: Reliability, width: int = 80) -> str:
    """A line for each bin that is not empty."""
    return reliability.text(width)


@drawing_of.register
def draw_reliability(reliability: Reliability) -> Drawing:
    """Draw accuracy against confidence by bin, above the number of outputs in each bin."""
    return Drawing((), lambda figure, _: _fill(figure, reliability))


def _fill(figure: "Figure", reliability: Reliability) -> None:
    figure.set_size_inches(4.2, 4.8)
    figure.set_layout_engine("constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    edges, filled = reliability.edges, reliability.counts > 0
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    accuracy, confidence = reliability.accuracies, reliability.confidences
    upper.bar(middle[filled], accuracy[filled], width[filled], color=BLUE, alpha=0.75, lw=0)
    upper.plot([0, 1], [0, 1], color=GREY, lw=0.9, ls="--", label="confidence = accuracy")
    upper.plot(confidence[filled], accuracy[filled], ".", color=ORANGE, label="mean of the bin")
    upper.set_ylabel("share that is right", fontsize=9)
    upper.set_ylim(0, 1)
    error = 100 * reliability.expected_error
    upper.set_title(f"expected calibration error {error:.1f} %", fontsize=10, loc="left")
    upper.legend(frameon=False, fontsize=8, loc="upper left")
    lower.bar(middle, reliability.counts, width, color=GREY, lw=0)
    lower.set_ylabel("outputs", fontsize=9)
    lower.set_xlabel("confidence", fontsize=9)
    lower.set_xlim(0, 1)
    for axes in (upper, lower):
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
