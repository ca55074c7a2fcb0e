"""The tree of a beam search, in the terminal and as a picture."""

from functools import partial

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.trees import MARKS, fill_tree
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.terminal import terminal_label, truncate_line
from seqloom.explanations.plain_values import tick_label
from seqloom.explanations.trees import SearchTree
from seqloom.prediction import Branch

__all__ = ["draw_tree", "tree_text"]

MOST_PRUNED = 2  # branches of a node that a picture shows of those not kept
ROOT = 40  # cells of the root in the terminal


@text_of.register
def tree_text(tree: SearchTree, width: int = 80) -> str:
    """A line for each branch that was kept, and one for those pruned beside it."""
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
    return "\n".join(
        truncate_line(line, width) for line in [*lines, "", signs, tree.summary]
    ).rstrip()


@drawing_of.register
def draw_tree(tree: SearchTree) -> Drawing:
    """Steps across, branches down."""
    fill = partial(fill_tree, tree.branches, _visible_children(tree), tree.best_path())
    return Drawing(tuple(tick_label(branch.text) for branch in tree.branches), fill, 120)


def _branch_label(branch: Branch) -> str:
    return f"{MARKS[branch.fate]}{terminal_label(branch.text)} {branch.total:.2f}"


def _visible_children(tree: SearchTree) -> dict[int, list[Branch]]:
    """The children that a picture has room for."""
    return {
        number: [b for b in below if b.fate != "pruned"]
        + [b for b in below if b.fate == "pruned"][:MOST_PRUNED]
        for number, below in tree.children().items()
    }
