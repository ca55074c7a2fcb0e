"""Score functions of attention (S4.1).

None of them has a bias that is the same for every key: the softmax would cancel it.
"""

import math
from typing import Any, NamedTuple

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from seqloom.config import SCORES
from seqloom.errors import ConfigError
from seqloom.nn.attention.pairwise import ReluPairs, TanhPairs, score_pairs

__all__ = [
    "AdditiveScore",
    "ConcatScore",
    "DotScore",
    "GeneralScore",
    "MLPScore",
    "ScaledDotScore",
    "ScaledGeneralScore",
    "ScoreFunction",
    "ScoreSizes",
]


class ScoreSizes(NamedTuple):
    """The sizes of queries and keys, and of the layer inside a score."""

    query: int
    key: int
    inner: int


class ScoreFunction(nn.Module):
    """Base class of score functions.

    To add one, register its options with `SCORES.options` and its class with `SCORES.part`.
    """

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "ScoreFunction":
        """Build the score function; ConfigError if it cannot compare these sizes."""
        raise NotImplementedError

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        """Compute the part that does not depend on the query, once per sentence."""
        return keys

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S A"]
    ) -> Float[Tensor, "B Q S"]:
        """The score of every query with every key."""
        raise NotImplementedError


@SCORES.part("dot")
class DotScore(ScoreFunction):
    """`qᵀ k`, times a factor.

    Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation.
    """

    def __init__(self, *, factor: float = 1.0) -> None:
        super().__init__()
        self.factor = factor

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "DotScore":
        _check_equal("dot", sizes)
        return cls()

    def prepare(self, keys: Float[Tensor, "B S D"]) -> Float[Tensor, "B S D"]:
        return keys * self.factor

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S D"]
    ) -> Float[Tensor, "B Q S"]:
        return queries @ prepared.transpose(1, 2)


@SCORES.part("scaled")
class ScaledDotScore(DotScore):
    """`qᵀ k / √d`.

    Vaswani et al. 2017, Attention Is All You Need.
    """

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "ScaledDotScore":
        _check_equal("scaled", sizes)
        return cls(factor=1 / math.sqrt(sizes.query))


@SCORES.part("general")
class GeneralScore(ScoreFunction):
    """`qᵀ W k`, times a factor.

    Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation.
    """

    def __init__(self, query: int, key: int, *, factor: float = 1.0) -> None:
        super().__init__()
        self.map = nn.Linear(key, query, bias=False)
        self.factor = factor

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "GeneralScore":
        return cls(sizes.query, sizes.key)

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S D"]:
        return self.map(keys) * self.factor

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S D"]
    ) -> Float[Tensor, "B Q S"]:
        return queries @ prepared.transpose(1, 2)


@SCORES.part("scaled-general")
class ScaledGeneralScore(GeneralScore):
    """`qᵀ W k / √max(query, key)`, over the larger of the two sizes."""

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "ScaledGeneralScore":
        return cls(sizes.query, sizes.key, factor=1 / math.sqrt(max(sizes.query, sizes.key)))


@SCORES.part("additive")
class AdditiveScore(ScoreFunction):
    """`wᵀ tanh(W_a q + W_b k)`.

    Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to Align and Translate.
    """

    def __init__(self, query: int, key: int, width: int) -> None:
        super().__init__()
        self.from_query = nn.Linear(query, width, bias=False)
        self.from_key = nn.Linear(key, width, bias=False)
        self.weigh = nn.Linear(width, 1, bias=False)

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "AdditiveScore":
        return cls(*sizes)

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        return self.from_key(keys)

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S A"]
    ) -> Float[Tensor, "B Q S"]:
        return score_pairs(TanhPairs, self.from_query(queries), prepared, self.weigh.weight[0])


@SCORES.part("concatenation")
class ConcatScore(ScoreFunction):
    """`wᵀ tanh(W [q;k])`; W's two halves are applied separately, so no pair is concatenated.

    Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation.
    """

    def __init__(self, query: int, key: int, width: int) -> None:
        super().__init__()
        self.query = query
        self.map = nn.Linear(query + key, width, bias=False)
        self.weigh = nn.Linear(width, 1, bias=False)

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "ConcatScore":
        return cls(*sizes)

    def prepare(self, keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        return functional.linear(keys, self.map.weight[:, self.query :])

    def compare(
        self, queries: Float[Tensor, "B Q D"], prepared: Float[Tensor, "B S A"]
    ) -> Float[Tensor, "B Q S"]:
        mapped = functional.linear(queries, self.map.weight[:, : self.query])
        return score_pairs(TanhPairs, mapped, prepared, self.weigh.weight[0])


@SCORES.part("perceptron")
class MLPScore(ScoreFunction):
    """`wᵀ relu(W₂ relu(W₁ [q;k] + b₁) + b₂)`; W₁'s two halves are applied separately."""

    def __init__(self, query: int, key: int, width: int) -> None:
        super().__init__()
        self.query = query
        self.first = nn.Linear(query + key, width)
        self.second = nn.Linear(width, width)
        self.weigh = nn.Linear(width, 1, bias=False)

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "MLPScore":
        return cls(*sizes)

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


def _check_equal(kind: str, sizes: ScoreSizes) -> None:
    if sizes.query != sizes.key:
        raise ConfigError(
            f"model.decoder.attention.score = {kind!r} needs equal sizes, not a query of "
            f"{sizes.query} and an encoder's output of {sizes.key}",
            remedy="use 'general'",
        )
