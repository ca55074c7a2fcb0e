"""Position encodings as heat maps, and the distances of neighbours."""

from functools import partial

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.tables import PositionCurve, fill_position_tables
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.terminal import wrap_lines
from seqloom.explanations.position_vectors import PositionMap, PositionMaps

__all__ = ["draw_positions", "positions_text"]


@text_of.register
def positions_text(found: PositionMaps, width: int = 80) -> str:
    """For each side the kind, the size, and the distances of neighbours."""
    lines = []
    for each in found.maps:
        steps = each.neighbor_distances()
        lines.append(f"{each.side}: {each.kind}; {each.table.shape[1]} values a position")
        if len(steps):
            lines.append(
                f"  neighbours lie {steps.min():.4f} to {steps.max():.4f} apart, "
                f"the first two {steps[0]:.4f}"
            )
        if each.pair:
            one, other = each.pair
            size = float(np.linalg.norm(each.difference()))
            lines.append(f"  positions {one} and {other} lie {size:.4f} apart")
    return wrap_lines(lines, width)


@drawing_of.register
def draw_positions(found: PositionMaps) -> Drawing:
    """Draw a heat map for each side, and beside it the distances of neighbours, or the difference
    of the two compared positions.
    """
    titles = [f"{each.side}: {each.kind}" for each in found.maps]
    tables = [each.table for each in found.maps]
    return Drawing(
        (), partial(fill_position_tables, titles, tables, [*map(_curve, found.maps)]), 120
    )


def _curve(found: PositionMap) -> PositionCurve:
    if found.pair is None:
        name = "distance to the next, ‖r(t+1) − r(t)‖"
        return PositionCurve(found.neighbor_distances(), 1, "position t", name)
    one, other = found.pair
    size = found.table.shape[1]
    return PositionCurve(found.difference(), 0, f"value, of {size}", f"r({one}) − r({other})")
