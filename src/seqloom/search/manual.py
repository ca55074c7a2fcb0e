"""The rows of the manual's table of searches."""

from collections.abc import Iterator
from typing import NamedTuple

from seqloom.config.searches import SEARCHES

__all__ = ["SearchRow", "search_rows"]


class SearchRow(NamedTuple):
    """An option of a search; a search without options has one empty row."""

    kind: str
    name: str  # in requests and configurations
    flag: str  # on the command line
    default: str
    meaning: str


def search_rows() -> Iterator[SearchRow]:
    """Every search with each of its options, in the order of the command line's help."""
    for kind, search in SEARCHES:
        options = search.options()
        if not options:
            yield SearchRow(kind, "", "", "", "no options")
        for each in options:
            default = "" if each.default is None or each.absent else f"{each.default:g}"
            yield SearchRow(kind, each.name, each.flag, default, each.meaning)
