"""The tree of a search, its steps across."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from seqloom.prediction import Branch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MARKS", "fill_tree"]

MARKS = {"kept": "", "pruned": "×", "finished": "■", "winner": "★"}
INKS = {"kept": "#1f5fa8", "pruned": "#b0b0b0", "finished": "#1f5fa8", "winner": "#c8641e"}


def fill_tree(
    branches: Sequence[Branch],
    below: Mapping[int, Sequence[Branch]],
    best: Collection[int],
    figure: "Figure",
    labels: Sequence[str],
) -> None:
    """Steps across, branches down; those below each node are given, the best ones in bold."""
    places = _layout_nodes(below)
    depth = max(x for x, _ in places.values())
    leaves = 1 + max(y for _, y in places.values())
    figure.set_size_inches(1.15 * (depth + 1), max(1.2, 0.24 * leaves))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.3, depth + 0.9)
    axes.set_ylim(leaves, -1)
    for parent, children in below.items():
        for child in children:
            is_best = child.number in best
            _draw_branch(axes, places[parent], places[child.number], is_best, child)
    for number, (x, y) in places.items():
        branch = branches[number]
        ink = "#c8641e" if number in best else INKS[branch.fate]
        words = f"{MARKS[branch.fate]} {labels[number]}".strip()
        axes.text(
            x, y, words, fontsize=8, va="center", ha="left", color=ink,
            weight="bold" if number in best else "normal",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
        if number:
            axes.text(
                x, y + 0.42, f"{branch.total:.2f}", fontsize=5.5, va="center", color="0.45",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
            )  # fmt: skip


def _layout_nodes(below: Mapping[int, Sequence[Branch]]) -> dict[int, tuple[int, float]]:
    """Depth and height of each node: leaves one below the other, parents beside their first."""
    places: dict[int, tuple[int, float]] = {}
    leaves = iter(range(len(below)))

    def place(number: int, depth: int) -> float:
        heights = [place(child.number, depth + 1) for child in below[number]]
        height = heights[0] if heights else float(next(leaves))
        places[number] = (depth, height)
        return height

    place(0, 0)
    return places


def _draw_branch(
    axes: "Axes", begin: tuple[int, float], end: tuple[int, float], best: bool, child: Branch
) -> None:
    """A line from a node to one of its children."""
    middle = end[0] - (0.35 if begin[1] == end[1] else 0.15)
    ink = "#c8641e" if best else INKS[child.fate]
    axes.plot(
        [begin[0], middle, end[0]], [begin[1], end[1], end[1]], color=ink,
        linewidth=2 if best else 0.8, linestyle=":" if child.fate == "pruned" else "-", zorder=0,
    )  # fmt: skip
