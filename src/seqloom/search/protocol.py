"""What every search is: a way from distributions to outputs, one step at a time (S7.4)."""

from typing import Any, Protocol, runtime_checkable

from seqloom.model import Decoder
from seqloom.search.limits import Limits
from seqloom.search.results import Hypothesis

__all__ = ["Search", "SearchState", "run_to_end"]


@runtime_checkable
class SearchState(Protocol):
    """Where a search stands; only the search itself looks further into it."""

    @property
    def done(self) -> bool:
        """Whether every sentence has its result."""
        ...


@runtime_checkable
class Search(Protocol):
    """A way from distributions to outputs, one step at a time for all rows."""

    @property
    def paths(self) -> int:
        """Paths of a sentence that are searched at once."""
        ...

    def begin(self, state: Any, limits: Limits) -> SearchState:
        """Where it stands before the first step, with one path for each sentence."""
        ...

    def advance(self, decoder: Decoder[Any], frontier: Any) -> SearchState:
        """One step for every sentence that is not done."""
        ...

    def results(self, frontier: Any) -> list[list[Hypothesis]]:
        """For each sentence its outputs, best first."""
        ...


def run_to_end(
    search: Search, decoder: Decoder[Any], state: Any, limits: Limits
) -> list[list[Hypothesis]]:
    """All steps of a search, and its results."""
    frontier = search.begin(state, limits)
    while not frontier.done:
        frontier = search.advance(decoder, frontier)
    return search.results(frontier)
