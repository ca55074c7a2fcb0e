"""What is asked of a predictor, and the same in a model's tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from seqloom.fields import TextField
from seqloom.prediction.glossary import GlossaryTerm
from seqloom.prediction.output_options import NO_OPTIONS, Constraints, OutputOptions
from seqloom.search import Hypothesis, Search, SearchNode

__all__ = ["DecodingRequest", "DecodingResult", "PredictionRequest"]


class DecodingResult(NamedTuple):
    """What a search gave for one input, and how many positions it could look at."""

    outputs: list[Hypothesis]
    tree: list[SearchNode]
    source_positions: int


@dataclass(frozen=True)
class PredictionRequest:
    """How outputs are searched for, how many are wanted, and what they are to be.

    Python, the command line and HTTP all make one; None leaves the search to the model.
    """

    search: Search | None = None
    n_best: int = 1
    options: OutputOptions = NO_OPTIONS

    @property
    def searches(self) -> bool:
        """Whether it asks for anything that only a search gives."""
        return (
            self.search is not None
            or self.n_best > 1
            or self.options.tree
            or self.options.has_constraints
        )


@dataclass(frozen=True)
class DecodingRequest:
    """A request in the tokens of the model that decodes it."""

    search: Search
    options: OutputOptions
    constraints: Constraints
    n_best: int = 1
    copies: bool = False  # whether source words are written in place of `<unk>`
    beginnings: tuple[str, ...] = ()  # of a language model's outputs, by the numbers of inputs

    @classmethod
    def of(cls, request: PredictionRequest, search: Search, target: TextField) -> "DecodingRequest":
        """The request, decoded by this search; ConfigError where it cannot be met."""
        search = search.with_outputs(request.n_best)
        constraints = Constraints.of(request.options, target, width=search.paths)
        return cls(search, request.options, constraints, request.n_best)

    def with_beginnings(
        self, beginnings: tuple[str, ...], target: TextField, *, first: int, endless: bool
    ) -> "DecodingRequest":
        """The same for outputs that begin so, the first of them at this line of the input."""
        constraints = self.constraints.with_prefixes(
            beginnings, target, first=first, endless=endless
        )
        return replace(self, constraints=constraints, beginnings=beginnings)

    def with_terms(self, terms: Sequence[GlossaryTerm], target: TextField) -> "DecodingRequest":
        """The same for inputs with these terms, of which the outputs have the translations."""
        return replace(self, constraints=self.constraints.with_terms(terms, target))

    @property
    def trace(self) -> bool:
        """Whether attention is recorded."""
        return self.options.attention or self.search.uses_attention or self.copies

    @property
    def returns_n_best(self) -> bool:
        """Whether all outputs found are told, rather than the best alone."""
        return self.n_best > 1 or self.search.returns_all

    def select(self, outputs: list[Hypothesis]) -> list[Hypothesis]:
        """The outputs to tell, of those found."""
        return outputs if self.search.returns_all else outputs[: self.n_best]
