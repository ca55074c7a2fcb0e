"""Networks as boxes and arrows; in the terminal, as a grid of steps with the inputs of each row."""

from functools import partial
from typing import Any

from rich.cells import cell_len

from seqloom.drawing.boxes import Arrow, Box, BoxDiagram, Heading, draw_diagram
from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.terminal import wrap_lines
from seqloom.explanations.network_graphs import GraphNode, NetworkGraph

__all__ = ["box_diagram", "diagram_values", "draw_graph", "graph_text"]


@text_of.register
def graph_text(net: NetworkGraph, width: int = 80) -> str:
    """The steps of an unrolled network from the output down to the source, and the inputs of each
    value.
    """
    lines = [f"{each.head} ← {', '.join(each.tails)}" for each in net.readings]
    grid = _grid(net, width) if net.rows else ""
    return "\n\n".join(part for part in (grid, wrap_lines(lines, width)) if part)


def _grid(net: NetworkGraph, width: int) -> str:
    """A line per row and a cell per column, cut at the terminal's width."""
    columns = sorted({node.x for node in net.nodes})
    cells = {(node.x, node.y): node.label for node in net.nodes}
    cells |= dict.fromkeys(net.gaps, "…")
    columns = sorted({*columns, *(x for x, _ in net.gaps)})
    sizes = {
        x: max(cell_len(label) for (column, _), label in cells.items() if column == x)
        for x in columns
    }
    lines = []
    for row in sorted({node.y for node in net.nodes}, reverse=True):
        texts = [cells.get((x, row), "") for x in columns]
        padded = [t + " " * (sizes[x] - cell_len(t)) for x, t in zip(columns, texts, strict=True)]
        lines.append("  ".join(padded)[:width].rstrip())
    return "\n".join(lines)


@drawing_of.register
def draw_graph(net: NetworkGraph) -> Drawing:
    """Boxes and arrows, the source below on the left, the output on top on the right."""
    labels = tuple(node.label for node in net.nodes)
    return Drawing(labels, partial(draw_diagram, box_diagram(net)), 160)


def box_diagram(net: NetworkGraph) -> BoxDiagram:
    """The boxes and arrows of a network."""
    boxes = {node.name: _box(node) for node in net.nodes}
    arrows = [Arrow(edge.begin, edge.end, edge.kind, edge.weight) for edge in net.edges]
    headings = [Heading(row.y, row.label, row.left) for row in net.rows]
    return BoxDiagram(boxes, arrows, headings, net.gaps)


def diagram_values(net: NetworkGraph) -> dict[str, Any]:
    """The diagram for a page: the position of each box and arrow, the sides and steps of each box,
    its ablated parts, and whether an arrow has an effect.
    """
    found = box_diagram(net).as_dict()
    for box, node in zip(found["boxes"], net.nodes, strict=True):
        steps = {(name.partition(".")[0], step) for name, step in node.stands_for}
        box |= {"name": node.name, "steps": sorted(steps), "once": node.once, "off": node.off}
    for arrow, edge in zip(found["arrows"], net.edges, strict=True):
        arrow["counts"] = edge.counts
    return {**found, "text": graph_text(net)}


def _box(node: GraphNode) -> Box:
    return Box(node.x, node.y, node.kind, node.label)
