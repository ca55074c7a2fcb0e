"""Beam search: the K best paths, finished ones among them, after every step (S7.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from seqloom.config.searches import SEARCHES, BeamOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.continuations import best_continuations, is_finished, path_ranks, upper_bounds
from seqloom.search.frontier import Frontier
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.methods.patience import PatientBeam, check_patience
from seqloom.search.protocol import Search, SearchDefaults, check_outputs, hypotheses
from seqloom.search.ranking import PER_TOKEN, OutputRanking

__all__ = ["Beam"]


@SEARCHES.part("beam")
@dataclass(frozen=True)
class Beam(BeamOptions, Search):
    """The best paths, `width` at a time.

    Exactly `width` paths of a sentence are kept if there are so many; ties go to the lower index. A
    finished path stays in the beam as long as its score ranks. A sentence is done when its `n_best`
    best finished paths cannot be overtaken; with `first`, as soon as its best path is finished,
    which may leave fewer outputs; with `patience`, see `PatientBeam`. Lowerre 1976, The HARPY
    Speech Recognition System.
    """

    joins_before_first_step: ClassVar[bool] = True

    ranking: OutputRanking = PER_TOKEN
    n_best: int = 1
    first: bool = False

    def __post_init__(self) -> None:
        check_outputs(self.n_best, self.width)
        if self.patience is not None:
            check_patience(self.patience)
        if self.first and not self.ranking.is_plain:
            raise ConfigError(
                "stopping at the first finished output misses better ones where lengths or "
                "coverage count",
                remedy="leave out one of the two",
            )

    @property
    def paths(self) -> int:
        return self.width

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        width = max(given.get("width", defaults.width), defaults.n_best)
        return cls(**{**given, "width": width}, ranking=defaults.ranking)

    def begin(self, state: Any, limits: Limits) -> Frontier:
        if self.patience is not None:
            return self._patient(self.patience).begin(state, limits)
        return Frontier.start(state, limits, covers=self.uses_attention)

    def advance(self, decoder: Decoder[Any], frontier: Frontier, /) -> Frontier:
        if self.patience is not None:
            return self._patient(self.patience).advance(decoder, frontier)
        choices = frontier.read(decoder, living=frontier.limits.required is None)
        moved = frontier.grow(choices, best_continuations(frontier, choices, self.width))
        if not moved.may_finish:
            return moved
        ranks, bounds = path_ranks(moved, self.ranking), upper_bounds(moved, self.ranking)
        sure = is_finished(ranks, bounds, moved.finished, 1 if self.first else self.n_best)
        return moved.finish_sentences(moved.full | sure, ranks)

    def results(self, frontier: Frontier, /) -> list[list[Hypothesis]]:
        if self.patience is not None:
            return self._patient(self.patience).results(frontier)
        return hypotheses(frontier, count=self.n_best)

    def _patient(self, patience: float) -> PatientBeam:
        return PatientBeam(self.width, self.ranking, patience, self.n_best)
