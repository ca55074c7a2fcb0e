"""Vectors of positions as heat maps, and the distance of neighbours."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.compute.position_vectors import PositionMaps
from seqloom.explain.plots.terminal import wrap_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_positions", "positions_text"]


@text_of.register
def positions_text(found: PositionMaps, width: int = 80) -> str:
    """For each side the kind, the size, and how far neighbours lie apart."""
    lines = []
    for each in found.maps:
        steps = each.neighbor_distances()
        lines.append(f"{each.side}: {each.kind}; {each.table.shape[1]} values a position")
        if len(steps):
            lines.append(
                f"  neighbours lie {steps.min():.4f} to {steps.max():.4f} apart, "
                f"the first two {steps[0]:.4f}"
            )
    return wrap_lines(lines, width)


@drawing_of.register
def draw_positions(found: PositionMaps) -> Drawing:
    """A heat map for each side, and beside it the distance of neighbours."""
    return Drawing((), partial(_fill, found), 120)


def _fill(found: PositionMaps, figure: "Figure", _labels: Sequence[str]) -> None:
    figure.set_size_inches(9, 3.4 * len(found.maps))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(found.maps), 2, width_ratios=(3, 2), squeeze=False)
    for each, (left, right) in zip(found.maps, grid, strict=True):
        count, size = each.table.shape
        most = np.abs(each.table).max() or 1.0
        image = left.imshow(
            each.table, aspect="auto", cmap="RdBu", interpolation="nearest", vmin=-most, vmax=most,
            extent=(-0.5, size - 0.5, count + 0.5, 0.5),
        )  # fmt: skip
        figure.colorbar(image, ax=left)
        left.set_title(f"{each.side}: {each.kind}", fontsize=10)
        left.set_xlabel(f"value, of {size}")
        left.set_ylabel("position t")
        right.plot(range(1, count), each.neighbor_distances(), lw=2, color="#1f5fa8")
        right.set_ylim(bottom=0)
        right.set_xlabel("position t")
        right.set_ylabel("distance to the next, ‖r(t+1) − r(t)‖", fontsize=9)
        right.grid(color="0.92")
        right.spines[["top", "right"]].set_visible(False)
