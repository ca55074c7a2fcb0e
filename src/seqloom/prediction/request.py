"""What is wanted of inputs, and what a search gives for one."""

from dataclasses import dataclass
from typing import NamedTuple

from seqloom.prediction.output_options import Constraints, OutputOptions
from seqloom.prediction.search_setup import needs_attention
from seqloom.search import Completions, Hypothesis, Search, SearchNode

__all__ = ["DecodingRequest", "DecodingResult"]


class DecodingResult(NamedTuple):
    """What a search gave for one input, and how many positions it could look at."""

    outputs: list[Hypothesis]
    tree: list[SearchNode]
    source_positions: int


@dataclass(frozen=True)
class DecodingRequest:
    """What is wanted of each input."""

    search: Search
    options: OutputOptions
    constraints: Constraints
    n_best: int = 1
    beginnings: tuple[str, ...] = ()  # of a language model's outputs, by the numbers of inputs

    @property
    def trace(self) -> bool:
        """Whether attention is looked at."""
        return self.options.attention or needs_attention(self.search)

    @property
    def returns_n_best(self) -> bool:
        """Whether all outputs found are told, rather than the best alone."""
        return self.n_best > 1 or isinstance(self.search, Completions)
