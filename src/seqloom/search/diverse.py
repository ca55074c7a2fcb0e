"""Diverse beam search: groups of paths, each kept from the tokens of those before (S7.5)."""

import math
from dataclasses import dataclass
from typing import Any

from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.frontier import Frontier
from seqloom.search.groups import finish_groups, group_continuations
from seqloom.search.limits import Limits
from seqloom.search.ranking import PER_TOKEN, Ranking
from seqloom.search.results import Hypothesis, check_outputs, deduplicate, hypotheses

__all__ = ["DiverseBeam"]


@dataclass(frozen=True)
class DiverseBeam:
    """`groups` beams that share `width` paths; each step, one group forks after the other.

    A token loses `strength` for each path of the groups before that wrote it in the same step. The
    loss decides which forks stay and does not count later: paths are scored by the model alone.
    With one group this is beam search.
    """

    width: int = 6
    groups: int = 3
    strength: float = 0.5
    ranking: Ranking = PER_TOKEN
    n_best: int = 1

    def __post_init__(self) -> None:
        if self.groups < 1 or self.width < 1 or self.width % self.groups:
            raise ConfigError(f"{self.groups} groups cannot share {self.width} paths evenly")
        check_outputs(self.n_best, self.width)
        if not 0 <= self.strength < math.inf:
            raise ConfigError(f"a strength of {self.strength:g} is not 0 or more")

    @property
    def paths(self) -> int:
        """Paths of a sentence that are searched at once."""
        return self.width

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits, covers=self.ranking.coverage > 0)

    def advance(self, decoder: Decoder[Any], frontier: Frontier) -> Frontier:
        choices = frontier.read(decoder, living=True)
        size = self.width // self.groups
        forks = group_continuations(frontier, choices, self.groups, size, strength=self.strength)
        moved = frontier.grow(choices, forks)
        return finish_groups(moved, self.ranking, self.groups, self.n_best)

    def results(self, frontier: Frontier) -> list[list[Hypothesis]]:
        """Groups may find the same output; it is given once."""
        found = hypotheses(frontier, count=self.width)
        return [deduplicate(outputs)[: self.n_best] for outputs in found]
