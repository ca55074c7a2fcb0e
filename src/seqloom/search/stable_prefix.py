"""The stable prefix of an output during search: the tokens that all paths share."""

from typing import NamedTuple

import torch

from seqloom.search.frontier import Frontier

__all__ = ["StableToken", "stable_tokens"]


class StableToken(NamedTuple):
    """A token shared by all paths of a sentence, and its log-probability."""

    token: int
    score: float


def stable_tokens(frontier: Frontier, place: int, known: int) -> list[StableToken]:
    """The tokens after the first `known` that all possible paths of a sentence share.

    Finished paths count too; `<end>` is not included. The prefix never shrinks, since every output
    continues some path.
    """
    possible = (frontier.totals[place] > -torch.inf).nonzero().squeeze(1)
    rows = possible + place * frontier.width
    rows = rows if frontier.active_rows is None else frontier.active_rows[rows]
    step, columns = frontier.step, []
    for _ in range(int(frontier.steps[place]) - known):
        if step is None:
            break
        columns.append((step.tokens[rows], step.scores[rows]))
        rows = rows if step.parents is None else step.parents[rows]
        rows = rows if step.previous_rows is None else step.previous_rows[rows]
        step = step.previous
    certain = []
    for tokens, scores in reversed(columns):
        token = int(tokens[0]) if len(tokens) else frontier.limits.end
        if token == frontier.limits.end or bool((tokens != token).any()):
            break
        certain.append(StableToken(token, float(scores[0])))
    return certain
