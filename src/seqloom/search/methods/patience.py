"""Beam search with patience: finished outputs leave the beam, and a fixed number suffices."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch

from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.continuations import best_continuations, path_ranks
from seqloom.search.frontier import Frontier
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.protocol import Search, check_outputs, hypotheses
from seqloom.search.ranking import PER_TOKEN, OutputRanking

__all__ = ["PatientBeam", "check_patience"]


@dataclass(frozen=True)
class PatientBeam(Search):
    """Keeps `width` open paths; one that ends among the `width` best continuations is set aside.

    A sentence is done when `patience` times `width` paths have ended: first come, first served, as
    in most toolkits, including CTranslate2. Ties go to the lower index. Users choose it as a beam
    with patience. Kasai et al. 2022, A Call for Clarity in Beam Search.
    """

    joins_before_first_step: ClassVar[bool] = True

    width: int = 5
    ranking: OutputRanking = PER_TOKEN
    patience: float = 1.0
    n_best: int = 1

    def __post_init__(self) -> None:
        check_outputs(self.n_best, self.width)
        check_patience(self.patience)

    @property
    def paths(self) -> int:
        return self.width

    @property
    def max_finished(self) -> int:
        """The number of finished outputs at which a sentence is done."""
        return max(self.n_best, round(self.patience * self.width))

    def begin(self, state: Any, limits: Limits) -> Frontier:
        start = Frontier.start(state, limits, covers=self.uses_attention)
        return replace(start, extras=(torch.zeros_like(start.sentences),))

    def advance(self, decoder: Decoder[Any], frontier: Frontier, /) -> Frontier:
        choices = frontier.read(decoder)
        moved = frontier.grow(choices, best_continuations(frontier, choices, 2 * self.width))
        if not moved.may_finish:
            return moved.narrow(self.width)
        possible = moved.totals > -torch.inf
        ended = moved.finished & possible  # paths that ended before are impossible
        ended[:, self.width :] = False
        counts = frontier.extras[0] + ended.sum(dim=1)
        alone = ~(possible & ~moved.finished).any(dim=1)
        done = moved.full | (counts >= self.max_finished) | alone
        ended[:, 0] |= done & (counts == 0)  # the best path if none has ended
        moved = replace(moved, extras=(counts,)).finish_paths(
            ended, path_ranks(moved, self.ranking)
        )
        return moved.narrow(self.width, done)

    def results(self, frontier: Frontier, /) -> list[list[Hypothesis]]:
        found = hypotheses(frontier, count=1)
        return [
            sorted(each, key=lambda output: -output.rank_score)[: self.n_best] for each in found
        ]


def check_patience(patience: float) -> None:
    """ConfigError unless the patience is positive and finite."""
    if not 0 < patience < math.inf:
        raise ConfigError(f"a patience of {patience:g} is not above 0")
