"""Diverse beam search: groups of paths, each discouraged from the tokens of those before (S7.5)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seqloom.config.searches import SEARCHES, DiverseOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.frontier import Frontier
from seqloom.search.groups import finish_groups, group_continuations
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.protocol import (
    Search,
    SearchDefaults,
    check_outputs,
    deduplicate,
    hypotheses,
)
from seqloom.search.ranking import PER_TOKEN, OutputRanking

__all__ = ["DiverseBeam"]


@SEARCHES.part("diverse")
@dataclass(frozen=True)
class DiverseBeam(DiverseOptions, Search):
    """A beam in groups that keep away from one another's tokens.

    `groups` beams share `width` paths; at each step, one group is extended after the other. A token
    loses `strength` for each path of the groups before that wrote it in the same step. The loss
    decides which continuations are kept and does not count later: paths are scored by the model
    alone. With one group this is beam search. Vijayakumar et al. 2018, Diverse Beam Search for
    Improved Description of Complex Scenes.
    """

    ranking: OutputRanking = PER_TOKEN
    n_best: int = 1

    def __post_init__(self) -> None:
        if self.groups < 1 or self.width < 1 or self.width % self.groups:
            raise ConfigError(f"{self.groups} groups cannot share {self.width} paths evenly")
        check_outputs(self.n_best, self.width)
        if not 0 <= self.strength < math.inf:
            raise ConfigError(f"a strength of {self.strength:g} is not 0 or more")

    @property
    def paths(self) -> int:
        return self.width

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        """Where only one of the two numbers is given, the paths become enough for even groups."""
        width = max(given.get("width", defaults.width), defaults.n_best)
        if not {"width", "groups"} <= given.keys():
            groups = given.get("groups", cls.groups)
            width = -(-width // groups) * groups
        return cls(**{**given, "width": width}, ranking=defaults.ranking)

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits, covers=self.uses_attention)

    def advance(self, decoder: Decoder[Any], frontier: Frontier, /) -> Frontier:
        choices = frontier.read(decoder, living=True)
        size = self.width // self.groups
        continuations = group_continuations(
            frontier, choices, self.groups, size, strength=self.strength
        )
        moved = frontier.grow(choices, continuations)
        return finish_groups(moved, self.ranking, self.groups, self.n_best)

    def results(self, frontier: Frontier, /) -> list[list[Hypothesis]]:
        """Groups may find the same output; it is given once."""
        found = hypotheses(frontier, count=self.width)
        return [deduplicate(outputs)[: self.n_best] for outputs in found]
