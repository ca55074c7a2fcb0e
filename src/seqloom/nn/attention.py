"""Scores of queries against keys, and the weighted sum they give (SPEC S4).

A score prepares the keys once per sentence; a step then costs only what depends on the query.
"""

import math
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

__all__ = ["Additive", "Dot", "General", "Merge", "Score", "attend"]


@runtime_checkable
class Score(Protocol):
    """One way to compare queries and keys."""

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        """What can be computed before any query is known."""
        ...

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S A"]
    ) -> Float[Tensor, "B Q S"]:
        """The score of every query with every key."""
        ...


class Dot(nn.Module):
    """`qᵀ k`, divided by √d where scaled."""

    def __init__(self, width: int, *, scaled: bool) -> None:
        super().__init__()
        self.factor = 1 / math.sqrt(width) if scaled else 1.0

    def prepare(self, keys: Float[Tensor, "B S D"]) -> Float[Tensor, "B S D"]:
        return keys * self.factor

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S D"]
    ) -> Float[Tensor, "B Q S"]:
        return queries @ prepared.transpose(1, 2)


class General(nn.Module):
    """`qᵀ W k`."""

    def __init__(self, query: int, key: int) -> None:
        super().__init__()
        self.map = nn.Linear(key, query, bias=False)

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S D"]:
        return self.map(keys)

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S D"]
    ) -> Float[Tensor, "B Q S"]:
        return queries @ prepared.transpose(1, 2)


class Additive(nn.Module):
    """`wᵀ tanh(W_a q + W_b k)`."""

    def __init__(self, query: int, key: int, width: int) -> None:
        super().__init__()
        self.from_query = nn.Linear(query, width, bias=False)
        self.from_key = nn.Linear(key, width, bias=False)
        self.weigh = nn.Linear(width, 1, bias=False)

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        return self.from_key(keys)

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S A"]
    ) -> Float[Tensor, "B Q S"]:
        pairs = self.from_query(queries)[:, :, None] + prepared[:, None]  # (B, Q, S, A)
        return self.weigh(pairs.tanh()).squeeze(-1)


def attend(
    scores: Float[Tensor, "B Q S"], values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]
) -> tuple[Float[Tensor, "B Q D"], Float[Tensor, "B Q S"]]:
    """The weighted sum and the weights; padding gets weight exactly 0."""
    weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(dim=-1)
    return weights @ values, weights


class Merge(nn.Module):
    """A state and what attention found for it, made one vector: `tanh(W [s; u] + b)`."""

    def __init__(self, state: int, context: int, width: int) -> None:
        super().__init__()
        self.map = nn.Linear(state + context, width)

    def forward(
        self, state: Float[Tensor, "R T D"], context: Float[Tensor, "R T E"]
    ) -> Float[Tensor, "R T W"]:
        return self.map(torch.cat([state, context], dim=-1)).tanh()
