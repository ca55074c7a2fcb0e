"""Greedy search: the most probable token at each step (S7.1)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from seqloom.config.searches import SEARCHES, GreedyOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.frontier import Continuations, Frontier
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.protocol import Search, hypotheses
from seqloom.search.topk import row_max

__all__ = ["Greedy"]


@SEARCHES.part("greedy")
@dataclass(frozen=True)
class Greedy(GreedyOptions, Search):
    """The most probable token at each step; ties go to the lower id."""

    joins_before_first_step: ClassVar[bool] = True

    @property
    def paths(self) -> int:
        return 1

    def with_outputs(self, n_best: int) -> Search:
        if n_best > 1:
            raise ConfigError("greedy search gives one output", remedy="use a beam for several")
        return self

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits)

    def advance(self, decoder: Decoder[Any], frontier: Frontier, /) -> Frontier:
        choices = frontier.read(decoder)
        best, token = row_max(choices.logits)
        gains = best - choices.norms
        moved = frontier.grow(choices, Continuations(token[:, None], gains[:, None]))
        if not moved.may_finish:
            return moved
        return moved.finish_sentences(moved.finished[:, 0] | moved.full, moved.totals)

    def results(self, frontier: Frontier, /) -> list[list[Hypothesis]]:
        return hypotheses(frontier, count=1)
