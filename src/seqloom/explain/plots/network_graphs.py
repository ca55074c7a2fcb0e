"""Networks as boxes and arrows, or as a line of text for each box."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.compute.network_graphs import GraphEdge, GraphNode, NetworkGraph
from seqloom.explain.plots.terminal import wrap_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_graph", "graph_text"]

NEAR = 2.5  # boxes apart that a straight arrow leads from one to the other
INKS = {"up": "0.3", "time": "#1f5fa8", "look": "#c8641e", "code": "#c8641e", "feedback": "0.6"}
FACES = {
    "symbol": "white", "vectors": "#f0f0f0", "layer": "#e3edf8", "attention": "#fbe9dc",
    "output": "#f0f0f0",
}  # fmt: skip


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
    return Drawing(tuple(node.label for node in net.nodes), partial(_fill, net), 130)


def _fill(net: NetworkGraph, figure: "Figure", labels: Sequence[str]) -> None:
    wide = len({node.x for node in net.nodes}) <= 3  # a rolled net has room for words
    scale = 1.15 if wide else 0.72
    right, top = (max(getattr(node, axis) for node in net.nodes) for axis in ("x", "y"))
    figure.set_size_inches(scale * (right + 2), 0.75 * (top + 1.2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.9, right + 0.9)
    axes.set_ylim(-0.6, top + 0.6)
    places = {node.name: (node.x, node.y) for node in net.nodes}
    for edge in net.edges:
        _arrow(axes, edge, places[edge.begin], places[edge.end])
    for node in net.nodes:
        if any(edge.begin == edge.end == node.name for edge in net.edges):
            _loop(axes, node)
    for node, label in zip(net.nodes, labels, strict=True):
        axes.text(
            node.x, node.y, label, ha="center", va="center", fontsize=9 if wide else 7, zorder=3,
            bbox={"facecolor": FACES[node.kind], "edgecolor": "0.6", "linewidth": 0.6,
                  "boxstyle": "round,pad=0.35"},
        )  # fmt: skip


def _arrow(
    axes: "Axes", edge: GraphEdge, begin: tuple[float, float], end: tuple[float, float]
) -> None:
    """An arrow, bent where a straight one would run through other boxes."""
    if begin == end:
        return
    width = 0.5 if edge.kind == "meet" else 0.9 + 1.8 * edge.weight * (edge.kind == "look")
    style = {
        "arrowstyle": "-|>", "color": INKS.get(edge.kind, "0.85"), "linewidth": width,
        "mutation_scale": 8, "shrinkA": 11, "shrinkB": 11,
    }  # fmt: skip
    if edge.kind == "feedback":
        style |= {"connectionstyle": "arc3,rad=-0.35", "linestyle": ":"}
    elif edge.kind == "time" and begin[0] > end[0]:
        style["connectionstyle"] = "arc3,rad=0.5"
    elif edge.kind in ("look", "code") and end[0] - begin[0] > NEAR:
        style["connectionstyle"] = "arc3,rad=-0.22"
    axes.annotate("", xy=end, xytext=begin, arrowprops=style, zorder=1)


def _loop(axes: "Axes", node: GraphNode) -> None:
    """What a layer hands itself, on the left of its box."""
    left = node.x - 0.12 - 0.024 * len(node.label)
    style = {
        "arrowstyle": "-|>", "color": INKS["time"], "linewidth": 0.9, "mutation_scale": 8,
        "connectionstyle": "arc3,rad=1.6",
    }  # fmt: skip
    begin, end = (left, node.y + 0.16), (left, node.y - 0.16)
    axes.annotate("", xy=end, xytext=begin, arrowprops=style, zorder=1)
