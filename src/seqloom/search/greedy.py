"""Greedy search: the likeliest token, step after step (SPEC S7.1)."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from seqloom.model import Decoder
from seqloom.search.frontier import Frontier, Hypothesis, Limits, hypotheses, next_logits

__all__ = ["Greedy"]


@dataclass(frozen=True)
class Greedy:
    """One path a sentence; among equals, the token with the lower number."""

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits)

    def advance(self, decoder: Decoder[Any], frontier: Frontier) -> Frontier:
        logits, total, state, attention = next_logits(decoder, frontier)
        best, token = logits.max(dim=1)
        token = torch.where(best == -torch.inf, frontier.limits.end, token)
        paths = frontier.paths.append(token, best - total, attention)
        totals = frontier.totals + (best - total)[:, None]
        finished = (token == frontier.limits.end)[:, None]
        moved = replace(frontier, state=state, paths=paths, totals=totals, finished=finished)
        done = finished[:, 0] | (frontier.limits.longest <= paths.tokens.shape[1])
        return moved.leave(done, totals)

    def results(self, frontier: Frontier) -> list[list[Hypothesis]]:
        return hypotheses(frontier, count=1)
