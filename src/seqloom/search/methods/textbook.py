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
    """Textbook beam search: by log-probability, until the best path is finished.

    Scores never rise along a path, so the beam cannot find a better one afterwards.
    """

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        width = max(given.get("width", defaults.width), defaults.n_best)
        first = defaults.n_best == 1
        return cls(**{**given, "width": width}, ranking=PLAIN, first=first)
