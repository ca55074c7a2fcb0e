"""Groups of equal size within the beam of a sentence."""

import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.search.continuations import candidates, is_finished, path_ranks, upper_bounds
from seqloom.search.frontier import Choices, Continuations, Frontier
from seqloom.search.ranking import OutputRanking
from seqloom.search.topk import stable_topk

__all__ = ["finish_groups", "group_continuations"]


def group_continuations(
    frontier: Frontier, choices: Choices, groups: int, size: int, *, strength: float = 0.0
) -> Continuations:
    """The `size` best continuations of each group; all groups start from the same empty path.

    A token is penalized by `strength` for each time that earlier groups wrote it at this step.
    """
    gains, tokens = candidates(frontier, choices, groups * size)  # (B, K, C)
    tokens = tokens.masked_fill(frontier.finished[:, :, None], -1)
    values = frontier.totals[:, :, None] + gains
    taken = tokens[:, :0, 0]  # (B, tokens of the groups before)
    chosen = []
    apart = frontier.step is not None
    paths = frontier.width // groups if apart else 1
    for group in range(groups):
        first = group * paths if apart else 0
        mine = slice(first, first + paths)
        worth = values[:, mine]
        if strength and group:
            worth = worth - strength * _count_matches(tokens[:, mine], taken)
        choice = stable_topk(worth.flatten(1), size)[1] + first * gains.shape[2]
        chosen.append(choice)
        taken = torch.cat([taken, tokens.flatten(1).gather(1, choice)], dim=1)
    choice = torch.cat(chosen, dim=1)
    return Continuations(taken, gains.flatten(1).gather(1, choice), choice // gains.shape[2])


def _count_matches(tokens: Int[Tensor, "B K C"], taken: Int[Tensor, "B N"]) -> Int[Tensor, "B K C"]:
    """How often each token is among those taken; the −1 of finished paths never is."""
    same = (tokens[:, :, :, None] == taken[:, None, None]) & (tokens >= 0)[:, :, :, None]
    return same.sum(dim=3)


def finish_groups(moved: Frontier, ranking: OutputRanking, groups: int, count: int) -> Frontier:
    """Finish sentences in which no group's `count` best can be overtaken."""
    if not moved.may_finish:
        return moved
    ranks, bounds = path_ranks(moved, ranking), upper_bounds(moved, ranking)
    ours, theirs, ended = (
        part.unflatten(1, (groups, -1)).flatten(0, 1) for part in (ranks, bounds, moved.finished)
    )
    sure = is_finished(ours, theirs, ended, count).unflatten(0, (-1, groups)).all(dim=1)
    return moved.finish_sentences(moved.full | sure, ranks)
