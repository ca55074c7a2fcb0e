"""What every search is: a way from distributions to outputs, one step at a time (S7.4)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from seqloom.config.searches import MethodOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.limits import Limits, Phrase
from seqloom.search.ranking import PER_TOKEN, OutputRanking
from seqloom.search.results import Hypothesis
from seqloom.search.tree import SearchNode, search_trees

__all__ = ["Search", "SearchDefaults", "SearchState", "run_to_end"]


@runtime_checkable
class SearchState(Protocol):
    """Where a search stands; only the search itself looks further into it."""

    @property
    def done(self) -> bool:
        """Whether every sentence has its result."""
        ...

    @property
    def open_sentences(self) -> list[int]:
        """The sentences without a result, by their numbers in the batch."""
        ...


class SearchDefaults(NamedTuple):
    """What the options that were not given follow from: the run, and the outputs wanted."""

    ranking: OutputRanking = PER_TOKEN
    beam: int = 5
    n_best: int = 1

    @property
    def width(self) -> int:
        """Paths to keep: the run's beam, wide enough for the outputs wanted."""
        return max(self.beam, self.n_best)


class Search(MethodOptions, ABC):
    """A way from distributions to outputs, one step at a time for all rows.

    A search is a frozen dataclass, registered in SEARCHES under the name that users choose it by.
    Fields made by `option` are its options; the first line of its docstring is its help.
    """

    title: ClassVar[str] = ""  # in a chooser, where it is not the kind
    takes_n_best: ClassVar[bool] = True  # gives as many outputs as are wanted
    returns_all: ClassVar[bool] = False  # all outputs found are told, however many are wanted
    is_random: ClassVar[bool] = False  # outputs are drawn
    can_join: ClassVar[bool] = True  # stands at a Frontier, so sentences may join and leave it
    joins_before_first_step: ClassVar[bool] = False  # and may do so before their first step

    @property
    @abstractmethod
    def paths(self) -> int:
        """Paths of a sentence that are searched at once."""

    @abstractmethod
    def begin(self, state: Any, limits: Limits) -> Any:
        """The state before the first step, with one path for each sentence."""

    @abstractmethod
    def advance(self, decoder: Decoder[Any], state: Any, /) -> Any:
        """Take one step for every sentence that is not done."""

    @abstractmethod
    def results(self, state: Any, /) -> list[list[Hypothesis]]:
        """The outputs of each sentence that is done, best first."""

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> "Search":
        """The search with these options; a `ranking` is the run's, and so is an absent `width`."""
        known = {each.name for each in fields(cls)}  # type: ignore[arg-type]
        filled = {"ranking": defaults.ranking, "width": defaults.width}
        return cls(**{name: filled[name] for name in filled.keys() & known} | dict(given))

    def with_outputs(self, n_best: int) -> "Search":
        """The same search, set to give `n_best` outputs; ConfigError where it cannot."""
        if "n_best" in {each.name for each in fields(self)}:  # type: ignore[arg-type]
            return replace(self, n_best=n_best)  # type: ignore[type-var]
        return self

    def for_texts(self, decode: Callable[[Phrase], str]) -> "Search":
        """The same search for outputs that `decode` makes texts of."""
        del decode
        return self

    @property
    def uses_attention(self) -> bool:
        """Whether outputs are compared by their attention, so that it has to be traced."""
        ranking: OutputRanking | None = getattr(self, "ranking", None)
        return ranking is not None and ranking.uses_attention

    @property
    def path_count(self) -> int:
        """Paths that the caller asks for, which a server limits."""
        return self.paths

    def work(self, tokens: int) -> int:
        """Positions that decoding reads for so many tokens of output, at most."""
        return tokens * self.paths

    def trees(self, state: Any, outputs: list[list[Hypothesis]]) -> list[list[SearchNode]]:
        """Everything the search looked at, a tree for each sentence."""
        if not self.can_join:
            raise ConfigError("this search keeps no tree to show", remedy="use a beam")
        return search_trees(state, outputs)


def run_to_end(
    search: Search, decoder: Decoder[Any], state: Any, limits: Limits
) -> list[list[Hypothesis]]:
    """Take all steps of a search; its results."""
    frontier = search.begin(state, limits)
    while not frontier.done:
        frontier = search.advance(decoder, frontier)
    return search.results(frontier)
