"""Networks as boxes and arrows, or as a line of text for each box."""

from functools import partial

from seqloom.drawing.boxes import Arrow, Box, fill_boxes
from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.compute.network_graphs import NetworkGraph
from seqloom.explain.plots.terminal import wrap_lines

__all__ = ["draw_graph", "graph_text"]


@text_of.register
def graph_text(net: NetworkGraph, width: int = 80) -> str:
    """Each node and where it leads, from the source to the output."""
    lines = []
    for node in net.nodes:
        ways = [
            "itself (time)" if edge.end == node.name else f"{edge.end} ({edge.kind})"
            for edge in net.edges
            if edge.begin == node.name
        ]
        lines.append(f"{node.name} [{node.label}]" + (f" → {', '.join(ways)}" if ways else ""))
    return wrap_lines(lines, width)


@drawing_of.register
def draw_graph(net: NetworkGraph) -> Drawing:
    """Boxes and arrows, the source below on the left, the output on top on the right."""
    boxes = {node.name: Box(node.x, node.y, node.kind) for node in net.nodes}
    arrows = [Arrow(edge.begin, edge.end, edge.kind, edge.weight) for edge in net.edges]
    labels = tuple(node.label for node in net.nodes)
    return Drawing(labels, partial(fill_boxes, boxes, arrows), 130)
