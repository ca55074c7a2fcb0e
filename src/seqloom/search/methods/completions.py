"""Alternatives at a position: the most probable next tokens, each completed (S7.5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from seqloom.config.searches import SEARCHES, CompletionsOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.continuations import candidates
from seqloom.search.frontier import Choices, Continuations, Frontier
from seqloom.search.groups import finish_groups, group_continuations
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.protocol import Search, SearchDefaults, check_count, hypotheses
from seqloom.search.ranking import PER_TOKEN, OutputRanking

__all__ = ["Completions"]


@SEARCHES.part("completions")
@dataclass(frozen=True)
class Completions(CompletionsOptions, Search):
    """The most probable tokens after the prefix, each completed.

    Each of the `count` tokens is completed by a beam of its own. Without a prefix they are the most
    probable first tokens. Outputs are in the order of their ranks; there are fewer if fewer tokens
    are possible.
    """

    ranking: OutputRanking = PER_TOKEN

    def __post_init__(self) -> None:
        if self.count < 1 or self.width < 1:
            raise ConfigError("alternatives and the width of their beams must be at least 1")

    @property
    def paths(self) -> int:
        return self.count * self.width

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        count = defaults.n_best if defaults.n_best > 1 else cls.count
        filled = {"count": count, "width": defaults.width, **given}
        return cls(**filled, ranking=defaults.ranking)

    def with_outputs(self, n_best: int) -> Search:
        check_count(self.count, n_best)
        return self

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits, covers=self.uses_attention)

    def advance(self, decoder: Decoder[Any], frontier: Frontier, /) -> Frontier:
        choices = frontier.read(decoder, living=True)
        continuations = group_continuations(frontier, choices, self.count, self.width)
        parting = _prefix_lengths(frontier.limits, frontier.sentences) == frontier.steps
        if bool(parting.any()):
            continuations = self._split_groups(frontier, choices, continuations, parting[:, None])
        return finish_groups(frontier.grow(choices, continuations), self.ranking, self.count, 1)

    def results(self, frontier: Frontier, /) -> list[list[Hypothesis]]:
        """The best output of each group; groups differ in their token after the prefix."""
        found = hypotheses(frontier, count=self.count * self.width, complete=False)
        none = frontier.sentences[:0]
        numbers = (
            torch.cat([none, *(left.sentences for left in frontier.finished_sentences)])
            .sort()
            .values
        )
        lengths = _prefix_lengths(frontier.limits, numbers).tolist()
        return [_best_per_token(*pair) for pair in zip(found, lengths, strict=True)]

    def _split_groups(
        self,
        frontier: Frontier,
        choices: Choices,
        continuations: Continuations,
        parting: Bool[Tensor, "B 1"],
    ) -> Continuations:
        """In sentences whose prefix is complete, let the n-th group continue with the n-th token
        alone.
        """
        gains, tokens = candidates(frontier, choices, self.count)
        size = continuations.tokens.shape[1] // self.count
        first = torch.arange(gains.shape[2], device=gains.device) * size
        words = torch.full_like(continuations.tokens, frontier.limits.end)
        words[:, first] = tokens[:, 0]  # of the only path, in slot 0
        alone = torch.full_like(continuations.gains, -torch.inf)
        alone[:, first] = gains[:, 0]
        parents = (
            torch.zeros_like(words) if continuations.parents is None else continuations.parents
        )
        return Continuations(
            torch.where(parting, words, continuations.tokens),
            torch.where(parting, alone, continuations.gains),
            parents.masked_fill(parting, 0),
        )


def _prefix_lengths(limits: Limits, sentences: Int[Tensor, "B"]) -> Int[Tensor, "B"]:
    if limits.prefix is None:
        return torch.zeros_like(sentences)
    return limits.prefix.lengths[sentences]


def _best_per_token(outputs: list[Hypothesis], length: int) -> list[Hypothesis]:
    """The best output for each token after a prefix of this length; finished ones first."""
    best: dict[tuple[int, ...], Hypothesis] = {}
    for output in sorted(outputs, key=lambda each: not each.finished):
        best.setdefault(output.tokens[length : length + 1], output)
    return sorted(best.values(), key=lambda each: -each.rank_score)
