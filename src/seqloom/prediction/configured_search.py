"""Searches as a run's options configure them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seqloom.config import SearchConfig
from seqloom.config.searches import AUTO, SEARCHES
from seqloom.engine.loop import SearchPlan, configured_plan

if TYPE_CHECKING:
    from seqloom.search import Search

__all__ = ["build_search", "describe_search", "plan_from_config", "search_from_config"]


def build_search(
    kind: str, given: Mapping[str, Any], config: SearchConfig, *, n_best: int = 1
) -> "Search":
    """Build a search of this kind; absent options follow from the run and the number of outputs.

    ConfigError if there is no such search or its options contradict each other.
    """
    from seqloom.search import Ranking, SearchDefaults

    defaults = SearchDefaults(Ranking.from_config(config), config.beam, n_best)
    found: Search = SEARCHES.parts[kind].from_options(given, defaults)
    return found


def search_from_config(options: SearchConfig, n_best: int, *, automatic: str = "") -> "Search":
    """Build the search configured in a run, wide enough for the outputs requested.

    `automatic` is the kind to use if the run names none; a beam of one path becomes
    greedy search.
    """
    kind, given = _search_choice(options, max(options.beam, n_best), automatic)
    return build_search(kind, given, options, n_best=n_best)


def plan_from_config(
    options: SearchConfig, n_best: int, *, automatic: str = ""
) -> SearchPlan | None:
    """The configured search as a plan for the compiled core; None if the core does not
    support it.
    """
    kind, given = _search_choice(options, max(options.beam, n_best), automatic)
    return configured_plan(kind, given, options, n_best)


def describe_search(options: SearchConfig, *, automatic: str = "") -> dict[str, Any]:
    """The kind of the configured search, with the options set in the run."""
    kind, given = _search_choice(options, options.beam, automatic)
    return {"kind": kind, **({"width": options.beam} if kind == "beam" else {}), **given}


def _search_choice(
    options: SearchConfig, width: int, automatic: str
) -> tuple[str, Mapping[str, Any]]:
    if options.method == AUTO:
        return automatic or ("beam" if width > 1 else "greedy"), {}
    if isinstance(options.method, str):
        return options.method, {}
    given = {name: value for name, value in options.method.items() if name != "kind"}
    return str(options.method["kind"]), given
