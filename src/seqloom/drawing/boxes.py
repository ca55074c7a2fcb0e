"""Boxes and arrows between them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Arrow", "Box", "fill_boxes"]

NEAR = 2.5  # boxes apart that a straight arrow leads from one to the other
INKS = {"up": "0.3", "time": "#1f5fa8", "look": "#c8641e", "code": "#c8641e", "feedback": "0.6"}
FACES = {
    "symbol": "white", "vectors": "#f0f0f0", "layer": "#e3edf8", "attention": "#fbe9dc",
    "output": "#f0f0f0",
}  # fmt: skip


class Box(NamedTuple):
    """Where a box stands, and what kind of part it is."""

    x: float
    y: float
    kind: str


class Arrow(NamedTuple):
    """From which box to which, of what kind and how heavy."""

    begin: str
    end: str
    kind: str
    weight: float = 1.0


def fill_boxes(
    boxes: Mapping[str, Box], arrows: Sequence[Arrow], figure: "Figure", labels: Sequence[str]
) -> None:
    """Labelled boxes by their names, and arrows between them; an arrow to itself is a loop."""
    wide = len({box.x for box in boxes.values()}) <= 3  # few columns have room for words
    scale = 1.15 if wide else 0.72
    right, top = (max(sizes) for sizes in zip(*(box[:2] for box in boxes.values()), strict=True))
    figure.set_size_inches(scale * (right + 2), 0.75 * (top + 1.2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.9, right + 0.9)
    axes.set_ylim(-0.6, top + 0.6)
    for arrow in arrows:
        _draw_arrow(axes, arrow, boxes[arrow.begin][:2], boxes[arrow.end][:2])
    for (name, box), label in zip(boxes.items(), labels, strict=True):
        if any(arrow.begin == arrow.end == name for arrow in arrows):
            _draw_loop(axes, box, label)
    for box, label in zip(boxes.values(), labels, strict=True):
        axes.text(
            box.x, box.y, label, ha="center", va="center", fontsize=9 if wide else 7, zorder=3,
            bbox={"facecolor": FACES[box.kind], "edgecolor": "0.6", "linewidth": 0.6,
                  "boxstyle": "round,pad=0.35"},
        )  # fmt: skip


def _draw_arrow(
    axes: "Axes", arrow: Arrow, begin: tuple[float, float], end: tuple[float, float]
) -> None:
    """An arrow, bent where a straight one would run through other boxes."""
    if begin == end:
        return
    width = 0.5 if arrow.kind == "meet" else 0.9 + 1.8 * arrow.weight * (arrow.kind == "look")
    style = {
        "arrowstyle": "-|>", "color": INKS.get(arrow.kind, "0.85"), "linewidth": width,
        "mutation_scale": 8, "shrinkA": 11, "shrinkB": 11,
    }  # fmt: skip
    if arrow.kind == "feedback":
        style |= {"connectionstyle": "arc3,rad=-0.35", "linestyle": ":"}
    elif arrow.kind == "time" and begin[0] > end[0]:
        style["connectionstyle"] = "arc3,rad=0.5"
    elif arrow.kind in ("look", "code") and end[0] - begin[0] > NEAR:
        style["connectionstyle"] = "arc3,rad=-0.22"
    axes.annotate("", xy=end, xytext=begin, arrowprops=style, zorder=1)


def _draw_loop(axes: "Axes", box: Box, label: str) -> None:
    """An arrow from a box to itself, on its left."""
    left = box.x - 0.12 - 0.024 * len(label)
    style = {
        "arrowstyle": "-|>", "color": INKS["time"], "linewidth": 0.9, "mutation_scale": 8,
        "connectionstyle": "arc3,rad=1.6",
    }  # fmt: skip
    begin, end = (left, box.y + 0.16), (left, box.y - 0.16)
    axes.annotate("", xy=end, xytext=begin, arrowprops=style, zorder=1)
