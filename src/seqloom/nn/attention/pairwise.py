"""Scores by a small network over query + key, computed without holding all pairs at once.

A tensor of B·Q·S·A values is large in training (80 MB for 64 sentences of 25 words and a width of
512), so pairs are computed in blocks that fit the processor's cache, and recomputed for the
gradient: less memory, and faster.
"""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from seqloom.nn.autograd_functions import apply_function
from seqloom.nn.modules import is_traced

__all__ = ["PairNetwork", "ReluPairs", "TanhPairs", "score_pairs"]

BLOCK = 2**18  # values of a block: 1 MB in float32


@runtime_checkable
class PairNetwork(Protocol):
    """A network from the vector of each pair to a score; it may overwrite `pairs`."""

    @staticmethod
    def score(pairs: Float[Tensor, "B Q S A"], *weights: Tensor) -> Float[Tensor, "B Q S"]: ...

    @staticmethod
    def gradients(
        change: Float[Tensor, "B Q S"], pairs: Float[Tensor, "B Q S A"], *weights: Tensor
    ) -> tuple[Tensor, ...]:
        """The gradients of the pairs and of each weight, given that of the scores."""
        ...


class TanhPairs:
    """`wᵀ tanh(pair)`."""

    @staticmethod
    def score(pairs: Float[Tensor, "B Q S A"], *weights: Tensor) -> Float[Tensor, "B Q S"]:
        (weigh,) = weights
        return pairs.tanh_() @ weigh

    @staticmethod
    def gradients(
        change: Float[Tensor, "B Q S"], pairs: Float[Tensor, "B Q S A"], *weights: Tensor
    ) -> tuple[Tensor, ...]:
        (weigh,) = weights
        squashed = pairs.tanh_()
        of_weigh = change.flatten() @ squashed.flatten(0, 2)
        slope = torch.addcmul(weigh.new_ones(()), squashed, squashed, value=-1, out=squashed)
        return slope.mul_(change[..., None]).mul_(weigh), of_weigh


class ReluPairs:
    """`wᵀ relu(W relu(pair) + b)`."""

    @staticmethod
    def score(pairs: Float[Tensor, "B Q S A"], *weights: Tensor) -> Float[Tensor, "B Q S"]:
        weigh, matrix, bias = weights
        inner = torch.addmm(bias, pairs.relu_().flatten(0, 2), matrix.t()).relu_()
        return (inner @ weigh).view(pairs.shape[:3])

    @staticmethod
    def gradients(
        change: Float[Tensor, "B Q S"], pairs: Float[Tensor, "B Q S A"], *weights: Tensor
    ) -> tuple[Tensor, ...]:
        weigh, matrix, bias = weights
        outer = pairs.relu_().flatten(0, 2)
        inner = torch.addmm(bias, outer, matrix.t()).relu_()
        flat = change.flatten()
        of_weigh = flat @ inner
        of_inner = torch.outer(flat, weigh).mul_(inner > 0)
        of_outer = (of_inner @ matrix).mul_(outer > 0)
        return of_outer.view_as(pairs), of_weigh, of_inner.t() @ outer, of_inner.sum(0)


def score_pairs(
    network: type[PairNetwork],
    queries: Float[Tensor, "B Q A"],
    keys: Float[Tensor, "B S A"],
    *weights: Tensor,
) -> Float[Tensor, "B Q S"]:
    """The network's score of `query + key`, for every pair."""
    if torch.is_grad_enabled():
        return apply_function(_ScorePairs, network, queries, keys, *weights)
    return _block_scores(network, queries, keys, *weights)


class _ScorePairs(Function):
    """The scores, with a gradient that recomputes the pairs."""

    @staticmethod
    def forward(
        context: Any, network: type[PairNetwork], queries: Tensor, keys: Tensor, *weights: Tensor
    ) -> Tensor:
        context.network = network
        context.save_for_backward(queries, keys, *weights)
        return _block_scores(network, queries, keys, *weights)

    @staticmethod
    @once_differentiable
    def backward(context: Any, change: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, *weights = context.saved_tensors
        totals = [torch.zeros_like(tensor) for tensor in (queries, keys, *weights)]
        for rows, columns in _blocks(queries, keys):
            pairs = queries[rows, columns, None] + keys[rows, None]
            of_pairs, *others = context.network.gradients(change[rows, columns], pairs, *weights)
            totals[0][rows, columns] = of_pairs.sum(2)
            totals[1][rows] += of_pairs.sum(1)
            for total, more in zip(totals[2:], others, strict=True):
                total += more
        return None, *totals


def _block_scores(
    network: type[PairNetwork], queries: Tensor, keys: Tensor, *weights: Tensor
) -> Tensor:
    if is_traced():
        return network.score(queries[:, :, None] + keys[:, None], *weights)
    scores = queries.new_empty(*queries.shape[:2], keys.shape[1])
    for rows, columns in _blocks(queries, keys):
        pairs = queries[rows, columns, None] + keys[rows, None]  # (b, q, S, A)
        scores[rows, columns] = network.score(pairs, *weights)
    return scores


def _blocks(queries: Tensor, keys: Tensor) -> Iterator[tuple[slice, slice]]:
    """Sentences and queries of each block: whole sentences, or some queries of a long one."""
    (sentences, count, width), positions = queries.shape, keys.shape[1]
    some = min(count, max(1, BLOCK // max(1, positions * width)))
    whole = max(1, BLOCK // max(1, count * positions * width))
    for sentence in range(0, sentences, whole):
        for query in range(0, count, some):
            yield slice(sentence, sentence + whole), slice(query, query + some)
