"""From a search as it was asked for to one that gives what is wanted of it."""

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from seqloom.config import SearchConfig
from seqloom.errors import ConfigError
from seqloom.fields import TextField
from seqloom.search import (
    Beam,
    Completions,
    DiverseBeam,
    Exact,
    Greedy,
    MinimumRisk,
    PatientBeam,
    Phrase,
    Ranking,
    Sample,
    Search,
    StochasticBeam,
    pairwise_chrf,
)

__all__ = ["needs_attention", "search_from_config", "with_n_best", "with_text_utility"]


def search_from_config(options: SearchConfig, n_best: int) -> Search:
    """The search of a run's options, wide enough for the outputs wanted."""
    width = max(options.beam, n_best)
    return Beam(width, Ranking.from_config(options)) if width > 1 else Greedy()


def with_n_best(search: Search, n_best: int) -> Search:
    """The search set to give `n_best` outputs; equal ones stay equal, and can be sent away."""
    match search:
        case MinimumRisk() | Beam() | PatientBeam() | DiverseBeam() | StochasticBeam() | Exact():
            return replace(search, n_best=n_best)
        case Sample(draws=most) | Completions(count=most) if n_best > most:
            raise ConfigError(
                f"{most} outputs are looked for, and {n_best} wanted: raise the first"
            )
        case Greedy() if n_best > 1:
            raise ConfigError("greedy search gives one output: use a beam for several")
    return search


def with_text_utility(search: Search, target: TextField) -> Search:
    """The same search for results that are texts: minimum risk compares these, not their tokens."""
    if isinstance(search, MinimumRisk) and search.utility is pairwise_chrf:
        return replace(search, utility=lambda outputs: _text_chrf(outputs, target))
    return search


def needs_attention(search: Search) -> bool:
    """Whether outputs are compared by their attention."""
    match search:
        case Beam() | PatientBeam() | DiverseBeam() | Completions() | Exact():
            return search.ranking.coverage > 0
    return False


def _text_chrf(outputs: Sequence[Phrase], target: TextField) -> Tensor:
    """chrF of each pair, as a share of 1."""
    return pairwise_chrf(["".join(target.decode(tokens).split()) for tokens in outputs])
