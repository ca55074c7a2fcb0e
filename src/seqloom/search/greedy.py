"""Greedy search: the likeliest token, step after step (S7.1)."""

from dataclasses import dataclass
from typing import Any

from seqloom.model import Decoder
from seqloom.search.frontier import Continuations, Frontier
from seqloom.search.limits import Limits
from seqloom.search.results import Hypothesis, hypotheses
from seqloom.search.topk import row_max

__all__ = ["Greedy"]


@dataclass(frozen=True)
class Greedy:
    """One path a sentence; among equals, the token with the lower number."""

    @property
    def paths(self) -> int:
        """Paths of a sentence that are searched at once."""
        return 1

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits)

    def advance(self, decoder: Decoder[Any], frontier: Frontier) -> Frontier:
        choices = frontier.read(decoder)
        best, token = row_max(choices.logits)
        gains = best - choices.norms
        moved = frontier.grow(choices, Continuations(token[:, None], gains[:, None]))
        if not moved.may_finish:
            return moved
        return moved.finish_sentences(moved.finished[:, 0] | moved.full, moved.totals)

    def results(self, frontier: Frontier) -> list[list[Hypothesis]]:
        return hypotheses(frontier, count=1)
