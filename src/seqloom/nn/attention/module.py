"""Attention of recurrent decoders: from queries and a source to contexts and weights."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.errors import DataError
from seqloom.nn.attention.heads import HeadProjections
from seqloom.nn.attention.local import Focus, Reach
from seqloom.nn.attention.scores import ScoreFunction
from seqloom.nn.modules import is_traced

__all__ = ["Attention", "AttentionSource"]


class AttentionSource(NamedTuple):
    """Keys and values of a source, shared by all paths of a sentence."""

    keys: Float[Tensor, "B H S A"]
    values: Float[Tensor, "B S E"]
    mask: Bool[Tensor, "B S"]  # True at real positions


class Attention(nn.Module):
    """`u = Σ w v` with w = softmax(scores) over the real positions visible to a query (S4).

    A causal query at step t sees positions up to t only (S4.4), a local one those in its
    window; every other weight is exactly 0.

    Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to Align and Translate.
    """

    def __init__(
        self,
        score: ScoreFunction,
        *,
        heads: HeadProjections | None = None,
        focus: Focus | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.score = score
        self.heads = heads
        self.focus = focus
        self.causal = causal

    @property
    def context_factor(self) -> int:
        """Size of a context, as a multiple of the size of the source's states."""
        return 1 if self.heads is None else self.heads.count

    def prepare(self, states: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> AttentionSource:
        """Compute keys and values, once per sentence; DataError if a sentence has no real
        position.
        """
        if not is_traced():
            self._check_mask(mask)
        keys = self.score.prepare(states if self.heads is None else self.heads.keys(states))
        return AttentionSource(keys.unflatten(0, (len(states), -1)), states, mask)

    def _check_mask(self, mask: Bool[Tensor, "B S"]) -> None:
        if not bool(mask.any(dim=1).all()):
            raise DataError("a source without a single real position cannot be attended to")
        if (self.causal or self.focus is not None) and bool((mask[:, 1:] & ~mask[:, :-1]).any()):
            raise DataError("causal and local attention need sources with padding at the end only")

    def forward(
        self,
        queries: Float[Tensor, "R T D"],
        prepared: AttentionSource,
        positions: Int[Tensor, "R"],
    ) -> tuple[Float[Tensor, "R T C"], Float[Tensor, "R T S"]]:
        """Return the contexts, with heads concatenated, and the weights, averaged over heads.

        `positions` counts the steps that each row has made before these.
        """
        rows, steps = queries.shape[:2]
        weights = self.weigh(queries, prepared, positions)
        context = weights.flatten(1, 2) @ prepared.values  # (B, H·K·T, E)
        context = context.view(*weights.shape[:3], -1).transpose(1, 2)
        mean = weights.mean(1) if weights.shape[1] > 1 else weights
        return context.reshape(rows, steps, -1), mean.view(rows, steps, -1)

    def weigh(
        self,
        queries: Float[Tensor, "R T D"],
        prepared: AttentionSource,
        positions: Int[Tensor, "R"],
    ) -> Float[Tensor, "B H Q S"]:
        """The weights of every head, for all Q = K·T queries of a sentence."""
        keys, _, mask = prepared
        sentences, heads = keys.shape[:2]
        asked = queries.reshape(sentences, -1, queries.shape[-1])  # (B, K·T, D)
        folded = asked if self.heads is None else self.heads.queries(asked)  # (B·H, K·T, A)
        scores = self.score.compare(folded, keys.flatten(0, 1))  # (B·H, K·T, S)
        scores = scores.view(sentences, heads, asked.shape[1], -1)
        return self._mask_scores(scores, asked, mask, positions).softmax(-1)

    def _mask_scores(
        self, scores: Tensor, asked: Tensor, mask: Tensor, positions: Tensor
    ) -> Tensor:
        """The scores, −∞ at positions masked for the query."""
        visible = mask[:, None]  # (B, 1, S)
        if self.causal or self.focus is not None:
            source = torch.arange(mask.shape[1], device=mask.device)
            at = _query_steps(positions, asked)
            last = (mask.sum(1, keepdim=True) - 1).expand_as(at)
            if self.causal:
                visible = visible & (source <= at[..., None])  # (B, K·T, S)
                last = last.minimum(at)
            if self.focus is not None:
                scores = scores + self.focus(asked, Reach(at, last, source))[:, None]
        return scores.masked_fill(~visible[:, None], -torch.inf)


def _query_steps(positions: Tensor, asked: Tensor) -> Tensor:
    """The step of every query: the (R,) steps made before, then one more for each query
    of a row.
    """
    sentences, count = asked.shape[:2]
    steps = torch.arange(sentences * count // len(positions), device=positions.device)
    return (positions[:, None] + steps).view(sentences, count)
