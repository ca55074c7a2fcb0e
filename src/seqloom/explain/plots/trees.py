"""The tree of a beam search, as text, as a picture and as a page."""

import html
from functools import partial

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.page import bundle, embed_json, page
from seqloom.drawing.trees import MARKS, fill_tree
from seqloom.drawing.views import drawing_of, page_of, text_details, text_of
from seqloom.explain.plots.terminal import terminal_label, truncate_line
from seqloom.explanations.plain_values import tick_label
from seqloom.explanations.trees import SearchTree
from seqloom.prediction import Branch

__all__ = ["draw_tree", "tree_page", "tree_text"]

SHOW = """
const place = document.getElementById("view");
const branches = JSON.parse(document.getElementById("tree").textContent);
place.append(beam(branches, () => place.clientWidth));
"""
ROOT = 40  # cells of the root's label in the terminal


@text_of.register
def tree_text(tree: SearchTree, width: int = 80) -> str:
    """A line for each kept branch, and one for those pruned beside it."""
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
    """Draw steps downwards and kept paths across."""
    fill = partial(fill_tree, tree.branches, tree.children(), tree.best_path())
    return Drawing(tuple(tick_label(branch.text) for branch in tree.branches), fill, 120)


@page_of.register
def tree_page(tree: SearchTree, title: str) -> str:
    """A page that replays the search, with collapsible pruned branches."""
    view = f'<p><b>{html.escape(tree.summary)}</b></p>\n<div id="view"></div>'
    parts = [view, embed_json("tree", tree.as_dict()["branches"]), text_details(tree)]
    return page(title, parts, script=bundle("elements.js", "written.js", "beam.js") + SHOW)


def _branch_label(branch: Branch) -> str:
    return f"{MARKS[branch.fate]}{terminal_label(branch.text)} {branch.total:.2f}"
