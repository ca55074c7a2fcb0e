"""The best continuations of all paths of a sentence at once, by blocks of tokens."""

from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.search.frontier import Choices, Continuations, Frontier
from seqloom.search.topk import SMALL_ROW

__all__ = ["continuations_by_blocks"]

BLOCK_SIZES = (64, 80, 96, 100, 60, 50, 125, 48, 40, 32)  # of a block, the better first


def continuations_by_blocks(
    frontier: Frontier, choices: Choices, count: int
) -> Continuations | None:
    """The `count` best ways to go on from all paths of each sentence, or None.

    The best are all in the blocks with the largest maxima, and only these are looked into. Where
    continuations tie, or the vocabulary is small or has no such blocks, there is no answer.
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
    """Where the choices of each path are; any where it has finished."""
    every = torch.arange(frontier.totals.numel(), device=frontier.totals.device)
    if choices.live_rows is None:
        return every
    rows = torch.zeros_like(every)
    return rows.index_copy_(0, choices.live_rows, every[: len(choices.live_rows)])


@lru_cache(maxsize=64)
def _block_size(width: int) -> int | None:
    """The size of a block, if there is one that so many tokens can be cut into."""
    if width <= SMALL_ROW:
        return None
    return next((size for size in BLOCK_SIZES if width % size == 0), None)
