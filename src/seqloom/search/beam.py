"""Beam search: the K best paths, finished ones among them, after every step (SPEC S7.3)."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.errors import ConfigError
from seqloom.fields import EMPTY
from seqloom.model import Decoder
from seqloom.search.frontier import Frontier, Hypothesis, Limits, hypotheses, next_logits

__all__ = ["Beam"]


@dataclass(frozen=True)
class Beam:
    """Keeps exactly `width` paths a sentence where there are so many; ties go to the lower index.

    A path that wrote `<end>` stays as it is and keeps its place by its score. A sentence is done
    when its `n_best` best finished paths cannot be overtaken, whatever the others may still write.
    Outputs are compared by log-probability / length^`length_power`, `<end>` counted.
    """

    width: int = 5
    length_power: float = 1.0
    n_best: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.n_best <= self.width:
            raise ConfigError(f"a beam of {self.width} cannot give {self.n_best} outputs: widen it")

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits)

    def advance(self, decoder: Decoder[Any], frontier: Frontier) -> Frontier:
        logits, total, state, attention = next_logits(decoder, frontier)
        gains, tokens = _best_tokens(logits, min(self.width, logits.shape[1]))
        gains = gains - total[:, None]
        totals, parents, choice = self._forks(frontier, gains)
        offsets = torch.arange(len(totals), device=totals.device)[:, None] * frontier.width
        rows = (offsets + parents).flatten()
        ended = frontier.finished.gather(1, parents)
        picked = tokens.reshape(len(totals), -1).gather(1, choice).masked_fill(ended, EMPTY)
        picked = picked.masked_fill(~ended & (totals == -torch.inf), frontier.limits.end)
        gain = gains.view(len(totals), -1).gather(1, choice).masked_fill(ended, 0.0)
        seen = None if attention is None else attention.index_select(0, rows)
        moved = replace(
            frontier,
            state=state.select(rows),
            paths=frontier.paths.select(rows).append(picked.flatten(), gain.flatten(), seen),
            totals=totals,
            finished=ended | (picked == frontier.limits.end),
        )
        ranks = self._ranks(moved)
        return moved.leave(self._done(moved, ranks), ranks)

    def results(self, frontier: Frontier) -> list[list[Hypothesis]]:
        return hypotheses(frontier, count=self.n_best)

    def _forks(
        self, frontier: Frontier, gains: Float[Tensor, "R C"]
    ) -> tuple[Float[Tensor, "B K2"], Int[Tensor, "B K2"], Int[Tensor, "B K2"]]:
        """The best forks of each sentence: totals, which path each continues, which fork it is."""
        forks = frontier.totals[:, :, None] + gains.view(*frontier.totals.shape, -1)  # (B, K, C)
        stays = frontier.finished[:, :, None]
        kept = torch.full_like(forks, -torch.inf)
        kept[:, :, 0] = frontier.totals
        forks = torch.where(stays, kept, forks).flatten(1)
        best, choice = forks.sort(dim=1, descending=True, stable=True)
        best, choice = best[:, : self.width], choice[:, : self.width]
        return best, choice // gains.shape[1], choice

    def _ranks(self, frontier: Frontier) -> Float[Tensor, "B K"]:
        """What paths are compared by at the end; the unfinished come after the finished."""
        written = frontier.paths.tokens.ne(EMPTY).sum(dim=1).view_as(frontier.totals)
        return frontier.totals / written.clamp(min=1).to(frontier.totals.dtype) ** self.length_power

    def _done(self, frontier: Frontier, ranks: Float[Tensor, "B K"]) -> Bool[Tensor, "B"]:
        """Sentences whose best are beyond reach, or that have no live path or no room left."""
        longest = frontier.limits.longest
        live = ~frontier.finished & (frontier.totals > -torch.inf)
        # Scores only fall, and the length divides most when it is greatest.
        hope = frontier.totals / longest[:, None].to(ranks.dtype) ** self.length_power
        hope = hope.masked_fill(~live, -torch.inf).amax(dim=1)
        reached = ranks.masked_fill(~frontier.finished, -torch.inf)
        count = min(self.n_best, frontier.width)
        worst = reached.topk(count, dim=1).values[:, -1]
        beyond = (worst >= hope) & (worst > -torch.inf) & (frontier.width >= self.n_best)
        return beyond | ~live.any(dim=1) | (longest <= frontier.paths.tokens.shape[1])


def _best_tokens(
    logits: Float[Tensor, "R V"], count: int
) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
    """The `count` largest of each row, in order; ties by lower index, unlike plain topk."""
    size = logits.shape[1]
    values, indices = logits.topk(min(count + 1, size), dim=1)
    unsure = (values[:, count - 1] == values[:, -1]) if count < size else None
    if unsure is not None and bool(unsure.any()):
        values, indices = logits.sort(dim=1, descending=True, stable=True)
        return values[:, :count], indices[:, :count]
    indices, order = indices[:, :count].sort(dim=1)
    values = values.gather(1, order)
    values, order = values.sort(dim=1, descending=True, stable=True)
    return values, indices.gather(1, order)
