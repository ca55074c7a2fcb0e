"""Search trees: the paths that a search kept, pruned and returned (S9)."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch

from seqloom.search.frontier import Frontier, SearchStep
from seqloom.search.hypothesis import Hypothesis

__all__ = ["Fate", "SearchNode", "search_trees"]

Fate = Literal["kept", "pruned", "finished", "winner"]


@dataclass(frozen=True)
class SearchNode:
    """A node of the tree: a token by which a path continued, or could have."""

    number: int  # its index in the sentence's tree
    parent: int | None  # None at the root, whose token is `<start>`
    token: int
    log_probability: float
    total: float  # log-probability of the whole path
    fate: Fate


class TreePosition(NamedTuple):
    """A path's last node in the tree of its sentence."""

    tree: list[SearchNode]
    node: SearchNode

    def add(self, token: int, score: float, fate: Fate) -> "TreePosition":
        """Add a child of the node."""
        total = self.node.total + score
        node = SearchNode(len(self.tree), self.node.number, token, score, total, fate)
        self.tree.append(node)
        return TreePosition(self.tree, node)


def search_trees(frontier: Frontier, outputs: list[list[Hypothesis]]) -> list[list[SearchNode]]:
    """The nodes of each sentence's tree, parents before children, once the search is done.

    Pruned branches are included as far as the steps noted them (`Limits.noted`); the winner is the
    last node of the first output.
    """
    end = frontier.limits.end
    root = SearchNode(0, None, frontier.limits.start, 0.0, 0.0, "kept")
    found = [[root] for _ in outputs]
    places: list[TreePosition | None] = [TreePosition(tree, root) for tree in found]
    for step in _steps_in_order(
        frontier.finished_sentences[-1].step if frontier.finished_sentences else None
    ):
        read = (
            places
            if step.previous_rows is None
            else [places[row] for row in step.previous_rows.tolist()]
        )
        places = _children(step, read, end)
    for tree, (best, *_) in zip(found, outputs, strict=True):
        _mark_winner(tree, (*best.tokens, end) if best.finished else best.tokens)
    return found


def _steps_in_order(step: SearchStep | None) -> list[SearchStep]:
    steps = []
    while step is not None:
        steps.append(step)
        step = step.previous
    return steps[::-1]


def _children(
    step: SearchStep, read: list[TreePosition | None], end: int
) -> list[TreePosition | None]:
    """Add the nodes of a step and its pruned branches; return each path's position."""
    tokens, scores = step.tokens.tolist(), step.scores.tolist()
    parents = range(len(tokens)) if step.parents is None else step.parents.tolist()
    places: list[TreePosition | None] = []
    taken = set()
    for row, token, score in zip(parents, tokens, scores, strict=True):
        place = read[row]
        if place is not None and score == -torch.inf:
            place = None
        elif place is not None and place.node.fate == "kept":
            place = place.add(token, score, "finished" if token == end else "kept")
            taken.add((row, token))
        places.append(place)
    if step.notes.tokens is not None and step.notes.scores is not None:
        noted = zip(read, step.notes.tokens.tolist(), step.notes.scores.tolist(), strict=True)
        for row, (place, words, likelihoods) in enumerate(noted):
            for token, score in zip(words, likelihoods, strict=True):
                open_end = place is not None and place.node.fate == "kept" and score > -torch.inf
                if place is not None and open_end and (row, token) not in taken:
                    place.add(token, score, "pruned")
    return places


def _mark_winner(tree: list[SearchNode], tokens: tuple[int, ...]) -> None:
    """Mark the node at the end of these tokens."""
    paths: list[tuple[int, ...]] = []
    for node in tree:
        paths.append(() if node.parent is None else (*paths[node.parent], node.token))
        if paths[-1] == tokens and node.fate != "pruned":
            tree[node.number] = replace(node, fate="winner")
            return
