"""The search that a run, a command or a request names, with the options it gives."""

from collections.abc import Mapping
from typing import Any

from seqloom.config import SearchConfig
from seqloom.config.searches import AUTO
from seqloom.search import SEARCHES, Ranking, Search, SearchDefaults

__all__ = ["build_search", "describe_search", "search_from_config"]


def build_search(
    kind: str, given: Mapping[str, Any], config: SearchConfig, *, n_best: int = 1
) -> Search:
    """The search of a kind with these options; the others follow from the run and the outputs.

    ConfigError where there is no such search or its options contradict one another.
    """
    defaults = SearchDefaults(Ranking.from_config(config), config.beam, n_best)
    found: Search = SEARCHES.parts[kind].from_options(given, defaults)
    return found


def search_from_config(options: SearchConfig, n_best: int, *, automatic: str = "") -> Search:
    """The search of a run's options, wide enough for the outputs wanted.

    `automatic` is the kind to use where the run names none: a beam, or greedy search where a beam
    would keep one path, unless told otherwise.
    """
    kind, given = _search_choice(options, max(options.beam, n_best), automatic)
    return build_search(kind, given, options, n_best=n_best)


def describe_search(options: SearchConfig, *, automatic: str = "") -> dict[str, Any]:
    """The kind of that search, and the options that the run sets of it."""
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
