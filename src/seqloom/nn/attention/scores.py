"""Score functions (S4.1).

None of them has a bias that adds the same to every key: the softmax would not see it.
"""

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from seqloom.nn.attention.pairwise import ReluPairs, TanhPairs, score_pairs

__all__ = ["AdditiveScore", "ConcatScore", "DotScore", "GeneralScore", "MLPScore", "ScoreFunction"]


@runtime_checkable
class ScoreFunction(Protocol):
    """One way to compare queries and keys."""

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        """What can be computed before any query is known."""
        ...

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S A"]
    ) -> Float[Tensor, "B Q S"]:
        """The score of every query with every key."""
        ...


class DotScore(nn.Module):
    """`qᵀ k`, times a factor: 1/√d makes it the scaled dot."""

    def __init__(self, *, factor: float = 1.0) -> None:
        super().__init__()
        self.factor = factor

    def prepare(self, keys: Float[Tensor, "B S D"]) -> Float[Tensor, "B S D"]:
        return keys * self.factor

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S D"]
    ) -> Float[Tensor, "B Q S"]:
        return queries @ prepared.transpose(1, 2)


class GeneralScore(nn.Module):
    """`qᵀ W k`, times a factor: 1/√max(query, key) makes it scaled."""

    def __init__(self, query: int, key: int, *, factor: float = 1.0) -> None:
        super().__init__()
        self.map = nn.Linear(key, query, bias=False)
        self.factor = factor

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S D"]:
        return self.map(keys) * self.factor

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S D"]
    ) -> Float[Tensor, "B Q S"]:
        return queries @ prepared.transpose(1, 2)


class AdditiveScore(nn.Module):
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
        return score_pairs(TanhPairs, self.from_query(queries), prepared, self.weigh.weight[0])


class ConcatScore(nn.Module):
    """`wᵀ tanh(W [q;k])`; W's two halves are applied apart, so no pair is ever concatenated."""

    def __init__(self, query: int, key: int, width: int) -> None:
        super().__init__()
        self.query = query
        self.map = nn.Linear(query + key, width, bias=False)
        self.weigh = nn.Linear(width, 1, bias=False)

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        return functional.linear(keys, self.map.weight[:, self.query :])

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S A"]
    ) -> Float[Tensor, "B Q S"]:
        mapped = functional.linear(queries, self.map.weight[:, : self.query])
        return score_pairs(TanhPairs, mapped, prepared, self.weigh.weight[0])


class MLPScore(nn.Module):
    """`wᵀ relu(W₂ relu(W₁ [q;k] + b₁) + b₂)`; W₁'s two halves are applied apart."""

    def __init__(self, query: int, key: int, width: int) -> None:
        super().__init__()
        self.query = query
        self.first = nn.Linear(query + key, width)
        self.second = nn.Linear(width, width)
        self.weigh = nn.Linear(width, 1, bias=False)

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        return functional.linear(keys, self.first.weight[:, self.query :], self.first.bias)

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S A"]
    ) -> Float[Tensor, "B Q S"]:
        mapped = functional.linear(queries, self.first.weight[:, : self.query])
        second = self.second
        return score_pairs(
            ReluPairs, mapped, prepared, self.weigh.weight[0], second.weight, second.bias
        )
