"""The tree of a beam search, in the terminal and as a picture."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.compute.plain_values import tick_label
from seqloom.explain.compute.trees import BeamTree
from seqloom.explain.plots.terminal import terminal_label, truncate_line
from seqloom.prediction import Branch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_tree", "tree_text"]

MOST_PRUNED = 2  # branches of a node that a picture shows of those not kept
MARKS = {"kept": "", "pruned": "×", "finished": "■", "winner": "★"}
INKS = {"kept": "#1f5fa8", "pruned": "#b0b0b0", "finished": "#1f5fa8", "winner": "#c8641e"}
ROOT = 40  # cells of the root in the terminal


@text_of.register
def tree_text(tree: BeamTree, width: int = 80) -> str:
    """A line for each branch that was kept; those dropped beside it in one."""
    below, best = tree.children(), tree.best_path()
    lines = [terminal_label(tree.branches[0].text, ROOT)]

    def add(number: int, margin: str) -> None:
        kept = [b for b in below[number] if b.fate != "pruned"]
        dropped = [b for b in below[number] if b.fate == "pruned"]
        for place, branch in enumerate(kept):
            last = place == len(kept) - 1 and not dropped
            star = " ←" if branch.number in best else ""
            lines.append(f"{margin}{'└' if last else '├'}─ {_branch_label(branch)}{star}")
            add(branch.number, margin + ("   " if last else "│  "))
        if dropped:
            words = ", ".join(_branch_label(branch) for branch in dropped)
            lines.append(f"{margin}└─ {words}")

    add(0, "")
    signs = "← the way to the winner ★   ■ ended   × dropped   (log-probability of the path)"
    return "\n".join(truncate_line(line, width) for line in [*lines, "", signs, tree.summary])


@drawing_of.register
def draw_tree(tree: BeamTree) -> Drawing:
    """Steps across, branches down."""
    return Drawing(tuple(tick_label(b.text) for b in tree.branches), partial(_fill, tree), 120)


def _branch_label(branch: Branch) -> str:
    return f"{MARKS[branch.fate]}{terminal_label(branch.text)} {branch.total:.2f}"


def _visible_children(tree: BeamTree) -> dict[int, list[Branch]]:
    """The children that a picture has room for."""
    return {
        number: [b for b in below if b.fate != "pruned"]
        + [b for b in below if b.fate == "pruned"][:MOST_PRUNED]
        for number, below in tree.children().items()
    }


def _layout_nodes(below: dict[int, list[Branch]]) -> dict[int, tuple[int, float]]:
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


def _fill(tree: BeamTree, figure: "Figure", labels: Sequence[str]) -> None:
    below, best = _visible_children(tree), tree.best_path()
    places = _layout_nodes(below)
    depth = max(x for x, _ in places.values())
    leaves = 1 + max(y for _, y in places.values())
    figure.set_size_inches(1.15 * (depth + 1), max(1.2, 0.24 * leaves))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.3, depth + 0.9)
    axes.set_ylim(leaves, -1)
    for parent, child in _parent_child_pairs(below):
        _draw_branch(axes, places[parent], places[child.number], child.number in best, child)
    for number, (x, y) in places.items():
        branch = tree.branches[number]
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


def _parent_child_pairs(below: dict[int, list[Branch]]) -> Iterator[tuple[int, Branch]]:
    for parent, children in below.items():
        for child in children:
            yield parent, child


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
