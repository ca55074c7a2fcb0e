"""What is wanted of inputs, and what a search gives for one."""

from dataclasses import dataclass
from typing import NamedTuple

from seqloom.prediction.output_options import Demands, Wishes
from seqloom.prediction.search_setup import traces
from seqloom.search import Completions, Hypothesis, Node, Search

__all__ = ["Asked", "Found"]


class Found(NamedTuple):
    """What a search gave for one input, and how many positions it could look at."""

    outputs: list[Hypothesis]
    tree: list[Node]
    seen: int


@dataclass(frozen=True)
class Asked:
    """What is wanted of each input."""

    search: Search
    wishes: Wishes
    demands: Demands
    n_best: int = 1
    beginnings: tuple[str, ...] = ()  # of a language model's outputs, by the numbers of inputs

    @property
    def trace(self) -> bool:
        """Whether attention is looked at."""
        return self.wishes.attention or traces(self.search)

    @property
    def several(self) -> bool:
        """Whether all outputs found are told, rather than the best alone."""
        return self.n_best > 1 or isinstance(self.search, Completions)
