"""Continuations of the paths of a sentence: candidates, ranking and the stopping rule."""

from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.search.constraint_banks import add_required_tokens, bank_choice
from seqloom.search.frontier import Choices, Continuations, Frontier
from seqloom.search.ranking import OutputRanking, coverage_penalty
from seqloom.search.topk import SMALL_ROW, stable_topk

__all__ = [
    "best_continuations",
    "candidates",
    "continuations_by_blocks",
    "is_finished",
    "path_ranks",
    "upper_bounds",
]

BLOCK_SIZES = (64, 80, 96, 100, 60, 50, 125, 48, 40, 32)  # smallest and largest block size


def continuations_by_blocks(
    frontier: Frontier, choices: Choices, count: int
) -> Continuations | None:
    """The `count` best continuations of all paths of each sentence, or None.

    The best are in the blocks with the largest maxima, so only these are searched. None if
    continuations tie or the vocabulary is small or has no such blocks.
    """
    size, paths = _block_size(choices.logits.shape[1]), frontier.width
    if size is None or choices.logits.shape[1] // size <= count:
        return None
    totals, rows = frontier.totals, _choice_rows(frontier, choices)
    tops = choices.logits.unflatten(1, (-1, size)).amax(dim=2) - choices.norms[:, None]
    number = tops.shape[1]
    if choices.live_rows is not None:
        tops = tops.index_select(0, rows)
        tops.masked_fill_(frontier.finished.view(-1, 1), -torch.inf)
        tops[:, 0].masked_fill_(frontier.finished.flatten(), 0.0)
    scores = (totals[:, :, None] + tops.view(len(totals), paths, number)).flatten(1)
    chosen = scores.topk(count + 1, dim=1).indices  # (B, C)
    parents, block = chosen // number, chosen % number
    path = parents + torch.arange(0, totals.numel(), paths, device=totals.device)[:, None]
    gains = _block_log_probabilities(frontier, choices, path.flatten(), block.flatten(), size)
    gains = gains.view(len(totals), -1)  # (B, C·size)
    sums = gains + totals.gather(1, parents).repeat_interleave(size, dim=1)
    best, where = sums.topk(count + 1, dim=1)
    if bool((best[:, 1:] == best[:, :-1]).any()):
        return None
    where = where[:, :count]
    tokens = block.gather(1, where // size) * size + where % size
    return Continuations(tokens, gains.gather(1, where), parents.gather(1, where // size))


def _block_log_probabilities(
    frontier: Frontier, choices: Choices, path: Int[Tensor, "N"], block: Int[Tensor, "N"], size: int
) -> Float[Tensor, "N S"]:
    """Log-probabilities of the tokens in these blocks of these paths; a finished path has one."""
    row = (
        path if choices.live_rows is None else _choice_rows(frontier, choices).index_select(0, path)
    )
    blocks = choices.logits.reshape(-1, size)
    number = choices.logits.shape[1] // size
    gains = blocks.index_select(0, row * number + block)
    gains -= choices.norms.index_select(0, row)[:, None]
    if choices.live_rows is not None:
        ended = frontier.finished.flatten().index_select(0, path)
        gains.masked_fill_(ended[:, None], -torch.inf)
        gains[:, 0].masked_fill_(ended & (block == 0), 0.0)
    return gains


def _choice_rows(frontier: Frontier, choices: Choices) -> Int[Tensor, "R"]:
    """The row of each path's choices; arbitrary for finished paths."""
    every = torch.arange(frontier.totals.numel(), device=frontier.totals.device)
    if choices.live_rows is None:
        return every
    rows = torch.zeros_like(every)
    return rows.index_copy_(0, choices.live_rows, every[: len(choices.live_rows)])


@lru_cache(maxsize=64)
def _block_size(width: int) -> int | None:
    """The block size that divides so many tokens, if there is one."""
    if width <= SMALL_ROW:
        return None
    return next((size for size in BLOCK_SIZES if width % size == 0), None)


def candidates(
    frontier: Frontier, choices: Choices, count: int
) -> tuple[Float[Tensor, "B K C"], Int[Tensor, "B K C"]]:
    """The most probable tokens of each path and their log-probabilities; a finished path
    has one.
    """
    gains, tokens = choices.best(count, frontier.totals.numel())
    if frontier.any_finished:
        ended = frontier.finished.flatten()
        gains.masked_fill_(ended[:, None], -torch.inf)
        gains[:, 0].masked_fill_(ended, 0.0)
    shape = *frontier.totals.shape, -1
    return gains.view(shape), tokens.view(shape)


def best_continuations(frontier: Frontier, choices: Choices, count: int) -> Continuations:
    """The `count` best continuations of all paths of each sentence.

    With required phrases, banks of paths share the beam equally.
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
    """The rank of each path in its present state."""
    covered = None
    if frontier.attention_sums is not None:
        sources = frontier.limits.sources
        if sources is None:
            sources = torch.full_like(frontier.sentences, frontier.attention_sums.shape[2])
        covered = coverage_penalty(frontier.attention_sums, sources)
    return ranking.rank(frontier.totals, frontier.lengths, covered)


def upper_bounds(frontier: Frontier, ranking: OutputRanking) -> Float[Tensor, "B K"]:
    """An upper bound on the rank of any output that continues a path."""
    longest = frontier.limits.longest[:, None].expand_as(frontier.lengths)
    return ranking.upper_bound(frontier.totals, frontier.lengths + 1, longest)


def is_finished(
    ranks: Float[Tensor, "B K"],
    bounds: Float[Tensor, "B K"],
    finished: Bool[Tensor, "B K"],
    count: int,
) -> Bool[Tensor, "B"]:
    """True for sentences whose `count` best finished paths cannot be overtaken, or that have no
    open path.

    Huang et al. 2017, When to Finish?
    """
    count = min(count, ranks.shape[1])
    reached = ranks.masked_fill(~finished, -torch.inf)
    worst = reached.topk(count, dim=1).values[:, -1]
    best = bounds.masked_fill(finished, -torch.inf).amax(dim=1)
    return (worst >= best) & ((worst > -torch.inf) | finished.all(dim=1))
