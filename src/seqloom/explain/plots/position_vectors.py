"""Vectors of positions as heat maps, and the distance of neighbours."""

from functools import partial

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.tables import fill_position_tables
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.terminal import wrap_lines
from seqloom.explanations.position_vectors import PositionMaps

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
    titles = [f"{each.side}: {each.kind}" for each in found.maps]
    tables = [each.table for each in found.maps]
    distances = [each.neighbor_distances() for each in found.maps]
    return Drawing((), partial(fill_position_tables, titles, tables, distances), 120)
