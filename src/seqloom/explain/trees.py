"""A beam's tree: what it kept, dropped and chose, beside the best that there is (S7.5, S9)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from seqloom.drawing.image_files import Drawing
from seqloom.errors import DataError
from seqloom.explain.attention_map import terminal_label, tick_label, truncate_line
from seqloom.fields import END, SPECIAL_SYMBOLS
from seqloom.prediction import Branch, OutputOptions, TextPredictor
from seqloom.search import Beam, Exact, Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BeamTree", "SearchOutcome", "beam_tree"]

TOLERANCE = 1e-4  # scores closer than this are equal in single precision
MOST_PRUNED = 2  # branches of a node that a picture shows of those not kept
MARKS = {"kept": "", "pruned": "×", "finished": "■", "winner": "★"}
INKS = {"kept": "#1f5fa8", "pruned": "#b0b0b0", "finished": "#1f5fa8", "winner": "#c8641e"}
EXPANSIONS = 20_000  # paths that the proof may read
FEW_EXPANSIONS = 2_000  # of a language model, which rarely ends
ROOT = 40  # cells of the root in the terminal
PROMPT_TOKENS = 4  # tokens of its input that stand at the root
CONTINUATION_TOKENS = 8  # tokens that it goes on for


@dataclass(frozen=True)
class SearchOutcome:
    """What a search came to."""

    text: str
    score: float  # log-probability
    rank: float  # what outputs are compared by
    ended: bool = True  # by itself, not at a limit


@dataclass(frozen=True)
class BeamTree:
    """The tree of one search, its winner, and the exact optimum by the same ranking."""

    source: str
    width: int
    branches: tuple[Branch, ...]  # parents before children
    winner: SearchOutcome
    optimum: SearchOutcome
    proved: bool  # whether nothing can be better than the optimum

    @property
    def has_search_error(self) -> bool:
        """Whether a better output is known than the beam's."""
        better = not self.winner.ended or self.optimum.rank > self.winner.rank + TOLERANCE
        return self.optimum.ended and better

    @property
    def summary(self) -> str:
        """How the search did, in a sentence."""
        if self.has_search_error:
            return (
                f"the beam missed a better output: {self.optimum.text!r} with "
                f"{self.optimum.rank:.3f} against {self.winner.rank:.3f}"
            )
        return (
            "the beam found the best output there is"
            if self.proved
            else "no better output is known; a limit was reached before there was a proof"
        )

    def children(self) -> dict[int, list[Branch]]:
        """The branches below each node: the one that won first, then kept ones, by score."""
        found: dict[int, list[Branch]] = {branch.number: [] for branch in self.branches}
        for branch in self.branches:
            if branch.parent is not None:
                found[branch.parent].append(branch)
        best = self.best_path()
        for below in found.values():
            below.sort(key=lambda b: (b.number not in best, b.fate == "pruned", -b.total))
        return found

    def best_path(self) -> set[int]:
        """The nodes from the root to the winner."""
        at = next((b.number for b in self.branches if b.fate == "winner"), None)
        path = set()
        while at is not None:
            path.add(at)
            at = self.branches[at].parent
        return path

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "width": self.width,
            "winner": vars(self.winner),
            "optimum": vars(self.optimum),
            "proved": self.proved,
            "missed": self.has_search_error,
            "branches": [vars(branch) for branch in self.branches],
        }

    def text(self, width: int = 80) -> str:
        """A line for each branch that was kept; those dropped beside it in one."""
        below, best = self.children(), self.best_path()
        lines = [terminal_label(self.branches[0].text, ROOT)]

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
        return "\n".join(truncate_line(line, width) for line in [*lines, "", signs, self.summary])

    def drawing(self) -> Drawing:
        """Steps across, branches down."""
        return Drawing(tuple(tick_label(b.text) for b in self.branches), partial(_fill, self), 120)


def beam_tree(
    model: TextPredictor, text: str, *, width: int | None = None, expansions: int = EXPANSIONS
) -> BeamTree:
    """Search with a beam, keep its tree, and look for the optimum; by the run's own ranking."""
    if not text.strip():
        raise DataError("there is nothing to look at in a blank input; give a text")
    if model.is_language_model:
        model, expansions = _limit_length(model), min(expansions, FEW_EXPANSIONS)
    options = model.config.search
    ranking = Ranking.from_config(options)
    width = width or max(2, options.beam)
    found = model.predict([text], search=Beam(width, ranking), wishes=OutputOptions(tree=True))[0]
    exact = model.predict([text], search=Exact(ranking, expansions=expansions))[0]
    winner, optimum = (
        SearchOutcome(
            each.text, each.score, each.normalised, each.tokens[-1].text == SPECIAL_SYMBOLS[END]
        )
        for each in (found, exact)
    )
    proved = exact.stopped == "end"
    if not proved and (winner.ended, winner.rank) > (optimum.ended, optimum.rank):
        optimum = winner
    branches = _drop_prompt(found.tree) if model.is_language_model else found.tree
    return BeamTree(text, width, branches, winner, optimum, proved)


def _limit_length(model: TextPredictor) -> TextPredictor:
    """A language model that stops soon: its outputs may have no end of their own."""
    options = model.config.search
    short = options.model_copy(update={"length": min(options.length, CONTINUATION_TOKENS)})
    return replace(model, config=model.config.model_copy(update={"search": short}))


def _drop_prompt(branches: Sequence[Branch]) -> tuple[Branch, ...]:
    """The tree from where it branches first; what was given before is its root."""
    below = [sum(each.parent == number for each in branches) for number in range(len(branches))]
    first = next((number for number, count in enumerate(below) if count != 1), 0)
    begun = " ".join(each.text for each in branches[max(0, first - PROMPT_TOKENS + 1) : first + 1])
    kept = [replace(each, number=each.number - first) for each in branches[first:]]
    later = [replace(each, parent=(each.parent or 0) - first) for each in kept[1:]]
    return (replace(kept[0], parent=None, text=begun), *later)


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
