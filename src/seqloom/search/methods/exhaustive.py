"""Exhaustive search over all outputs, for tiny cases (S7.5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import isfinite

from seqloom.config.searches import SEARCHES, ExhaustiveOptions
from seqloom.errors import LimitError
from seqloom.model import Decoder
from seqloom.search.continuations import best_continuations, path_ranks
from seqloom.search.frontier import Frontier
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.protocol import Search, SearchDefaults, hypotheses
from seqloom.search.ranking import PLAIN, OutputRanking

__all__ = ["Exhaustive"]


@SEARCHES.part("exhaustive")
@dataclass(frozen=True)
class Exhaustive(ExhaustiveOptions, Search):
    """Every path, to its end or the longest length, without pruning.

    There are V^T paths, so this is for tiny vocabularies and short outputs; more than `forks` paths
    of a sentence are an error. `Exact` finds the same output.
    """

    can_join: ClassVar[bool] = False

    ranking: OutputRanking = PLAIN
    n_best: int = 1

    @property
    def paths(self) -> int:
        return self.forks

    @property
    def path_count(self) -> int:
        """None: the number of paths is not a request's to choose."""
        return 0

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        return cls(**given, n_best=defaults.n_best)

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits, covers=self.uses_attention)

    def advance(self, decoder: Decoder[Any], frontier: Frontier, /) -> Frontier:
        choices = frontier.read(decoder)
        living = int((~frontier.finished & isfinite(frontier.totals)).sum(dim=1).max())
        most = living * choices.logits.shape[-1] + int(frontier.finished.sum(dim=1).max())
        if most > self.forks:
            raise LimitError(
                f"exhaustive search would keep {most:,} paths, and forks is {self.forks:,}",
                remedy="allow a shorter output, or search exactly",
            )
        moved = frontier.grow(choices, best_continuations(frontier, choices, most))
        ends = moved.finished | ~isfinite(moved.totals)
        return moved.finish_sentences(moved.full | ends.all(dim=1), path_ranks(moved, self.ranking))

    def results(self, frontier: Frontier, /) -> list[list[Hypothesis]]:
        return hypotheses(frontier, count=self.n_best)
