"""From distributions to outputs: every search drives every decoder."""

from seqloom.search.beam import Beam
from seqloom.search.frontier import Frontier, Hypothesis, Limits, Search, run_to_end
from seqloom.search.greedy import Greedy

__all__ = ["Beam", "Frontier", "Greedy", "Hypothesis", "Limits", "Search", "run_to_end"]
