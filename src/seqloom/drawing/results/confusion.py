"""A confusion matrix as a picture, for two to sixty labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of
from seqloom.metrics import ConfusionMatrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_confusion"]

MAP = "Blues"
NUMBERED = 24  # labels up to which cells show counts
LONGEST = 24  # characters per label
DARK = 0.3  # share above which numbers are white


@text_of.register
def confusion_text(matrix: ConfusionMatrix, width: int = 80) -> str:
    """The matrix, or a list of its confusions if it is wider than the terminal."""
    return matrix.text(width)


@drawing_of.register
def draw_confusion(matrix: ConfusionMatrix) -> Drawing:
    """Draw references as rows and outputs as columns; the shade is the square root of the share of
    the row, so that rare confusions are visible, and the number is the count. Beyond sixty labels
    the rarest are merged.
    """
    folded = matrix.fold()
    labels = tuple(_shorten(label) for label in folded.labels)
    return Drawing(labels, lambda figure, shown: _fill(figure, folded, shown))


def _shorten(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"


def _fill(figure: "Figure", matrix: ConfusionMatrix, labels: Sequence[str]) -> None:
    from matplotlib.colors import PowerNorm

    size = len(labels)
    cell = max(0.2, min(0.55, 9 / size))
    figure.set_size_inches(max(3.2, cell * size + 1.8), max(2.6, cell * size + 1.2))
    axes = figure.add_subplot()
    image = axes.imshow(matrix.shares, cmap=MAP, norm=PowerNorm(0.5, 0, 1), aspect="equal")
    small = max(6.0, min(9.0, 26 * cell))
    axes.set_xticks(range(size), labels, rotation=90, fontsize=small)
    axes.set_yticks(range(size), labels, fontsize=small)
    axes.set_xlabel("output", fontsize=9)
    axes.set_ylabel("reference", fontsize=9)
    axes.set_xticks(np.arange(size + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(size + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="0.9", linewidth=0.4)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    if size <= NUMBERED:
        _write_counts(axes, matrix, small)
    bar = figure.colorbar(image, ax=axes, pad=0.02, fraction=0.046)
    bar.set_label("share of the reference's label", fontsize=8)
    bar.ax.tick_params(labelsize=7)


def _write_counts(axes: "Axes", matrix: ConfusionMatrix, size: float) -> None:
    """Write the counts other than 0, in a size that fits the widest."""
    widest = len(f"{matrix.counts.max():,}")
    size = min(size, 2.1 * size / max(2, widest) + 2)
    for row, column in zip(*np.nonzero(matrix.counts), strict=True):
        color = "white" if matrix.shares[row, column] > DARK else "black"
        words = f"{matrix.counts[row, column]:,}"
        axes.text(
            float(column), float(row), words, ha="center", va="center", color=color, fontsize=size
        )
