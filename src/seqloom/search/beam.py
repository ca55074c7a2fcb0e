"""Beam search: the K best paths, finished ones among them, after every step (S7.3)."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.block_topk import continuations_by_blocks
from seqloom.search.constraint_banks import add_required_tokens, bank_choice
from seqloom.search.frontier import Choices, Continuations, Frontier
from seqloom.search.limits import Limits
from seqloom.search.ranking import PER_TOKEN, Ranking, coverage_penalty
from seqloom.search.results import Hypothesis, check_outputs, hypotheses
from seqloom.search.topk import stable_topk

__all__ = ["Beam", "best_continuations", "candidates", "is_finished", "path_ranks", "upper_bounds"]


@dataclass(frozen=True)
class Beam:
    """Keeps exactly `width` paths a sentence where there are so many; ties go to the lower index.

    A path that wrote `<end>` stays as it is and keeps its place by its score. A sentence is done
    when its `n_best` best finished paths cannot be overtaken, whatever the others may still write;
    with `first`, as soon as its best path is a finished one, and then the outputs may be fewer.
    """

    width: int = 5
    ranking: Ranking = PER_TOKEN
    n_best: int = 1
    first: bool = False

    def __post_init__(self) -> None:
        check_outputs(self.n_best, self.width)
        if self.first and not self.ranking.is_plain:
            raise ConfigError(
                "stopping at the first finished output misses better ones where lengths or "
                "coverage count: leave out one of the two"
            )

    @property
    def paths(self) -> int:
        """Paths of a sentence that are searched at once."""
        return self.width

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits, covers=self.ranking.coverage > 0)

    def advance(self, decoder: Decoder[Any], frontier: Frontier) -> Frontier:
        choices = frontier.read(decoder, living=frontier.limits.required is None)
        moved = frontier.grow(choices, best_continuations(frontier, choices, self.width))
        if not moved.may_finish:
            return moved
        ranks, hopes = path_ranks(moved, self.ranking), upper_bounds(moved, self.ranking)
        sure = is_finished(ranks, hopes, moved.finished, 1 if self.first else self.n_best)
        return moved.finish_sentences(moved.full | sure, ranks)

    def results(self, frontier: Frontier) -> list[list[Hypothesis]]:
        return hypotheses(frontier, count=self.n_best)


def candidates(
    frontier: Frontier, choices: Choices, count: int
) -> tuple[Float[Tensor, "B K C"], Int[Tensor, "B K C"]]:
    """The likeliest tokens of each path and their log-probabilities; a finished path has one."""
    gains, tokens = choices.best(count, frontier.totals.numel())
    if frontier.any_finished:
        ended = frontier.finished.flatten()
        gains.masked_fill_(ended[:, None], -torch.inf)
        gains[:, 0].masked_fill_(ended, 0.0)
    shape = *frontier.totals.shape, -1
    return gains.view(shape), tokens.view(shape)


def best_continuations(frontier: Frontier, choices: Choices, count: int) -> Continuations:
    """The `count` best ways to go on from all paths of each sentence.

    Where phrases are required, paths with few and with many of their tokens have equal shares.
    """
    required = frontier.limits.required
    forks = None if required is not None else continuations_by_blocks(frontier, choices, count)
    if forks is not None:
        return forks
    gains, tokens = candidates(frontier, choices, count)
    if required is None:
        _, choice = stable_topk((frontier.totals[:, :, None] + gains).flatten(1), count)
    else:
        gains, tokens, banks = add_required_tokens(frontier, choices, required, (gains, tokens))
        totals = (frontier.totals[:, :, None] + gains).flatten(1)
        choice = bank_choice(totals, banks.flatten(1), count)
    return Continuations(
        tokens.flatten(1).gather(1, choice),
        gains.flatten(1).gather(1, choice),
        choice // gains.shape[2],
    )


def path_ranks(frontier: Frontier, ranking: Ranking) -> Float[Tensor, "B K"]:
    """What the paths are compared by as they are."""
    covered = None
    if frontier.attention_sums is not None:
        sources = frontier.limits.sources
        if sources is None:
            sources = torch.full_like(frontier.sentences, frontier.attention_sums.shape[2])
        covered = coverage_penalty(frontier.attention_sums, sources)
    return ranking.rank(frontier.totals, frontier.lengths, covered)


def upper_bounds(frontier: Frontier, ranking: Ranking) -> Float[Tensor, "B K"]:
    """What no output that continues a path is above."""
    longest = frontier.limits.longest[:, None].expand_as(frontier.lengths)
    return ranking.upper_bound(frontier.totals, frontier.lengths + 1, longest)


def is_finished(
    ranks: Float[Tensor, "B K"],
    hopes: Float[Tensor, "B K"],
    finished: Bool[Tensor, "B K"],
    count: int,
) -> Bool[Tensor, "B"]:
    """Where the `count` best finished paths cannot be overtaken, or no path is left to go on."""
    count = min(count, ranks.shape[1])
    reached = ranks.masked_fill(~finished, -torch.inf)
    worst = reached.topk(count, dim=1).values[:, -1]
    best = hopes.masked_fill(finished, -torch.inf).amax(dim=1)
    return (worst >= best) & ((worst > -torch.inf) | finished.all(dim=1))
