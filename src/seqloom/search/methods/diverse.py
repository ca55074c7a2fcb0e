"""Diverse beam search: groups of paths, each penalized for tokens of earlier groups (S7.5)."""

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
    """Beam search in groups that are penalized for repeating one another's tokens.

    The `width` paths are divided into `groups`, extended one after the other at each step. A token
    is penalized by `strength` for each path of earlier groups that wrote it in this step. The
    penalty affects only which continuations are kept: scores are the model's. With one group this
    is beam search. Vijayakumar et al. 2018, Diverse Beam Search for Improved Description of Complex
    Scenes.
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
        """If only one of the two numbers is given, the width is raised to divide evenly."""
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
        """The outputs of all groups without duplicates."""
        found = hypotheses(frontier, count=self.width)
        return [deduplicate(outputs)[: self.n_best] for outputs in found]
