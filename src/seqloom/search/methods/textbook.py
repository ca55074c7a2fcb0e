"""Beam search as the course texts teach it (S7.3, S7.5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seqloom.config.searches import SEARCHES
from seqloom.search.methods.beam import Beam
from seqloom.search.protocol import Search, SearchDefaults
from seqloom.search.ranking import PLAIN

__all__ = ["TextbookBeam"]


@SEARCHES.part("textbook")
@dataclass(frozen=True)
class TextbookBeam(Beam):
    """The best paths by plain log-probability, until the best of all is a finished one.

    Scores never rise along a path, so that one is the best that the beam can still find.
    """

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        width = max(given.get("width", defaults.width), defaults.n_best)
        first = defaults.n_best == 1
        return cls(**{**given, "width": width}, ranking=PLAIN, first=first)
