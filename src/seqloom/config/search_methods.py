"""The options of every built-in search, which `--help` lists without loading the searches.

The searches inherit their options from here and are in `seqloom.search.methods`. The order is that
in which help and choosers list them.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from seqloom.config.searches import LARGEST_SEED, SEARCHES, MethodOptions, PartOption, option

__all__ = [
    "RISK_DRAWS",
    "BeamOptions",
    "BestPathOptions",
    "CompletionsOptions",
    "DiverseOptions",
    "ExactOptions",
    "ExhaustiveOptions",
    "GreedyOptions",
    "PrefixBeamOptions",
    "RiskOptions",
    "SampleOptions",
    "StochasticOptions",
    "TextbookOptions",
]

RISK_DRAWS = 16


def _width(default: int) -> Any:
    return option(
        default, "paths kept", ge=1, flag="--beam", limit="paths", absent="the run's search.beam"
    )


@SEARCHES.options("greedy")
@dataclass(frozen=True)
class GreedyOptions(MethodOptions):
    """Greedy search has no options."""


@SEARCHES.options("beam")
@dataclass(frozen=True)
class BeamOptions(MethodOptions):
    """How wide a beam is, and when it stops."""

    width: int = _width(5)
    _: KW_ONLY
    patience: float | None = option(
        None, "stop when this many times the paths kept have ended, rather than when sure", gt=0
    )


@SEARCHES.options("textbook")
@dataclass(frozen=True)
class TextbookOptions(BeamOptions):
    """The same as for a beam."""


@SEARCHES.options("diverse")
@dataclass(frozen=True)
class DiverseOptions(MethodOptions):
    """How many groups a diverse beam has, and how far they keep apart."""

    width: int = _width(6)
    groups: int = option(3, "groups that share the paths", ge=1, limit="paths")
    strength: float = option(0.5, "cost of a token that another group wrote", ge=0)


@SEARCHES.options("stochastic")
@dataclass(frozen=True)
class StochasticOptions(MethodOptions):
    """How many different outputs are drawn, and from which distribution."""

    width: int = _width(5)
    temperature: float = option(1.0, "above 1 more varied, below 1 less", gt=0)
    seed: int = option(1, "of the random draws", ge=0, le=LARGEST_SEED)


@SEARCHES.options("sample")
@dataclass(frozen=True)
class SampleOptions(MethodOptions):
    """Which tokens are drawn from, and how many outputs."""

    temperature: float = option(1.0, "above 1 more varied, below 1 less", gt=0)
    top_k: int = option(0, "only this many of the likeliest tokens; 0 is all", ge=0)
    top_p: float = option(
        1.0,
        "only the likeliest tokens with this share of the probability",
        gt=0,
        le=1,
        suggested=0.95,
    )
    min_p: float = option(0.0, "only tokens this many times as likely as the likeliest", ge=0, le=1)
    draws: int = option(
        1, "outputs drawn for each input", ge=1, limit="paths", absent="as many as are wanted"
    )
    seed: int = option(1, "of the random draws", ge=0, le=LARGEST_SEED)


@SEARCHES.options("risk")
@dataclass(frozen=True)
class RiskOptions(MethodOptions):
    """How the outputs to compare are drawn."""

    @classmethod
    def options(cls) -> tuple[PartOption, ...]:
        """Those of the draws, of which there are at least two to compare."""
        return tuple(
            replace(each, default=RISK_DRAWS, ge=2, absent="") if each.name == "draws" else each
            for each in SampleOptions.options()
        )


@SEARCHES.options("exact")
@dataclass(frozen=True)
class ExactOptions(MethodOptions):
    """How long the search goes on."""

    _: KW_ONLY
    expansions: int = option(
        10_000, "paths read before giving up", ge=1, limit="expansions", suggested=1_000
    )


@SEARCHES.options("exhaustive")
@dataclass(frozen=True)
class ExhaustiveOptions(MethodOptions):
    """How many paths there may be."""

    forks: int = option(20_000, "paths of a sentence at most, beyond which it is an error", ge=1)


@SEARCHES.options("completions")
@dataclass(frozen=True)
class CompletionsOptions(MethodOptions):
    """How many tokens are completed, and how wide the beam of each is."""

    count: int = option(
        5, "tokens that are completed", ge=1, limit="paths", absent="5, or as many as are wanted"
    )
    width: int = _width(3)


@SEARCHES.options("best-path")
@dataclass(frozen=True)
class BestPathOptions(MethodOptions):
    """The best path has no options."""


@SEARCHES.options("prefix-beam")
@dataclass(frozen=True)
class PrefixBeamOptions(MethodOptions):
    """How many prefixes are kept."""

    width: int = _width(5)
