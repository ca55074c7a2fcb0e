"""The tree of a beam search: kept and pruned hypotheses, and the exact optimum (S7.5, S9)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from seqloom.display import Displayed
from seqloom.errors import DataError
from seqloom.fields import END, SPECIAL_SYMBOLS
from seqloom.prediction import Branch, OutputOptions, TextPredictor
from seqloom.search import Beam, Exact, Ranking

__all__ = ["BeamTree", "SearchOutcome", "SearchTree", "beam_tree"]

TOLERANCE = 1e-4  # scores closer than this are equal in single precision
EXPANSIONS = 20_000  # hypotheses that the exact search may expand
FEW_EXPANSIONS = 2_000  # as above for a language model, which rarely ends
PROMPT_TOKENS = 4  # prompt tokens shown at the root
CONTINUATION_TOKENS = 8  # generated tokens of a language model


@dataclass(frozen=True)
class SearchOutcome:
    """The result of a search."""

    text: str
    score: float  # log-probability
    rank: float  # score used for ranking
    ended: bool = True  # whether the output ended before the length limit


@dataclass(frozen=True)
class SearchTree(Displayed):
    """The tree of one search."""

    branches: tuple[Branch, ...]  # parents before children

    @property
    def summary(self) -> str:
        """The outcome of the search in a sentence; empty if unknown."""
        return ""

    def children(self) -> dict[int, list[Branch]]:
        """The branches below each node: the winner's first, then kept ones, by score."""
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
        return {"branches": [vars(branch) for branch in self.branches]}


@dataclass(frozen=True)
class BeamTree(SearchTree):
    """The tree of one search, its winner, and the exact optimum by the same ranking."""

    source: str
    width: int
    winner: SearchOutcome
    optimum: SearchOutcome
    proved: bool  # whether the optimum is proved

    @property
    def has_search_error(self) -> bool:
        """Whether an output better than the beam's is known."""
        better = not self.winner.ended or self.optimum.rank > self.winner.rank + TOLERANCE
        return self.optimum.ended and better

    @property
    def summary(self) -> str:
        """The outcome of the search in a sentence."""
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

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "width": self.width,
            "winner": vars(self.winner),
            "optimum": vars(self.optimum),
            "proved": self.proved,
            "missed": self.has_search_error,
            **super().as_dict(),
        }


def beam_tree(
    model: TextPredictor, text: str, *, width: int | None = None, expansions: int = EXPANSIONS
) -> BeamTree:
    """Run a beam search that keeps its tree, and an exact search, both with the run's own
    ranking.
    """
    if not text.strip():
        raise DataError("there is nothing to look at in a blank input", remedy="give a text")
    if model.is_language_model:
        model, expansions = _limit_length(model), min(expansions, FEW_EXPANSIONS)
    options = model.config.search
    ranking = Ranking.from_config(options)
    width = width or max(2, options.beam)
    beam, traced = Beam(width, ranking), OutputOptions(tree=True)
    (found,) = model.stream_cells([text], search=beam, options=traced)
    (exact,) = model.stream_cells([text], search=Exact(ranking, expansions=expansions))
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
    return BeamTree(branches, text, width, winner, optimum, proved)


def _limit_length(model: TextPredictor) -> TextPredictor:
    """A language model with a short length limit, as its outputs may never end."""
    options = model.config.search
    short = options.model_copy(update={"length": min(options.length, CONTINUATION_TOKENS)})
    return replace(model, config=model.config.model_copy(update={"search": short}))


def _drop_prompt(branches: Sequence[Branch]) -> tuple[Branch, ...]:
    """The tree from its first branching on, with the prompt as its root."""
    below = [sum(each.parent == number for each in branches) for number in range(len(branches))]
    first = next((number for number, count in enumerate(below) if count != 1), 0)
    begun = " ".join(each.text for each in branches[max(0, first - PROMPT_TOKENS + 1) : first + 1])
    kept = [replace(each, number=each.number - first) for each in branches[first:]]
    later = [replace(each, parent=(each.parent or 0) - first) for each in kept[1:]]
    return (replace(kept[0], parent=None, text=begun), *later)
