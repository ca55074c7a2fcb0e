"""How the paths of a sentence go on, how they rank, and when none can be overtaken any more."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.search.block_topk import continuations_by_blocks
from seqloom.search.constraint_banks import add_required_tokens, bank_choice
from seqloom.search.frontier import Choices, Continuations, Frontier
from seqloom.search.ranking import OutputRanking, coverage_penalty
from seqloom.search.topk import stable_topk

__all__ = ["best_continuations", "candidates", "is_finished", "path_ranks", "upper_bounds"]


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
    continuations = (
        None if required is not None else continuations_by_blocks(frontier, choices, count)
    )
    if continuations is not None:
        return continuations
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


def path_ranks(frontier: Frontier, ranking: OutputRanking) -> Float[Tensor, "B K"]:
    """What the paths are compared by as they are."""
    covered = None
    if frontier.attention_sums is not None:
        sources = frontier.limits.sources
        if sources is None:
            sources = torch.full_like(frontier.sentences, frontier.attention_sums.shape[2])
        covered = coverage_penalty(frontier.attention_sums, sources)
    return ranking.rank(frontier.totals, frontier.lengths, covered)


def upper_bounds(frontier: Frontier, ranking: OutputRanking) -> Float[Tensor, "B K"]:
    """What no output that continues a path is above."""
    longest = frontier.limits.longest[:, None].expand_as(frontier.lengths)
    return ranking.upper_bound(frontier.totals, frontier.lengths + 1, longest)


def is_finished(
    ranks: Float[Tensor, "B K"],
    bounds: Float[Tensor, "B K"],
    finished: Bool[Tensor, "B K"],
    count: int,
) -> Bool[Tensor, "B"]:
    """Where the `count` best finished paths cannot be overtaken, or no path is left to go on.

    Huang et al. 2017, When to Finish?
    """
    count = min(count, ranks.shape[1])
    reached = ranks.masked_fill(~finished, -torch.inf)
    worst = reached.topk(count, dim=1).values[:, -1]
    best = bounds.masked_fill(finished, -torch.inf).amax(dim=1)
    return (worst >= best) & ((worst > -torch.inf) | finished.all(dim=1))
