"""Truncated backpropagation through time: gradients flow back a limited number of steps (S6.2).

The target is read in chunks. A chunk starts from the detached state of the one before, and its
graph is freed before the next is read: memory is bounded by the chunk. What the chunks read of the
source is a leaf; its gradient is summed over them and passed back through the encoder once.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.fields import START
from seqloom.model import Network, State, TargetFeatures
from seqloom.model.state import tree_map
from seqloom.training.loss import (
    Example,
    LossOptions,
    Sums,
    backward_from_features,
    extend_factors,
    select_positions,
)
from seqloom.training.precision import matmul_precision
from seqloom.training.scheduled_sampling import TargetFeed, feed_labels, feed_own_outputs

__all__ = ["StreamState", "backward_truncated"]


class StreamState(NamedTuple):
    """The position in a long text: the detached state, and the next token to read."""

    state: State[Any, Any]
    token: Int[Tensor, "B"]


def backward_truncated(
    model: Network,
    example: Example,
    cost: LossOptions,
    *,
    steps: int,
    first: StreamState | None = None,
) -> tuple[Sums, StreamState]:
    """As `backward`, with gradients cut at the start of each chunk of so many steps.

    Text that continues an earlier chunk starts from its `StreamState` and has no source.

    Williams and Peng 1990, An Efficient Gradient-Based Algorithm for On-Line Training of Recurrent
    Network Trajectories.
    """
    decoder = model.decoder
    if decoder is None:
        raise TypeError("a head reads no target that could be cut into chunks")
    leaves, fed = _Leaves(), feed_labels(example.target)
    if first is None:
        with matmul_precision(cost.precision):
            memory = model.encoder.encode(example.source)
            if example.sampling is not None:
                fed = feed_own_outputs(model, memory, example.target, example.sampling)
            started = leaves.of(decoder.start(memory))
        first = StreamState(started, torch.full_like(example.target[:, 0], START))
    state, token = first
    totals = Sums(0.0, 0.0, 0)
    for tokens, labels, counts, factors in _chunks(fed, example.factors, steps):
        with matmul_precision(cost.precision):
            inputs = torch.cat([token[:, None], tokens[:, :-1]], dim=1)
            features, state = decoder.read(inputs, state)
            found = select_positions(
                model, TargetFeatures(features.hidden, labels, counts), factors
            )
        totals = totals.plus(backward_from_features(model, found, cost))
        state, token = replace(state, own=_detach(state.own)), tokens[:, -1]
    leaves.backward()
    return totals, StreamState(replace(state, shared=_detach(state.shared)), token)


def _chunks(
    fed: TargetFeed, factors: Tensor | None, steps: int
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor | None]]:
    """Split all tensors into chunks of so many steps."""
    factors = extend_factors(factors, fed.labels)
    for begin in range(0, fed.labels.shape[1], steps):
        part = slice(begin, begin + steps)
        tokens, labels, counts = (each[:, part] for each in fed)
        yield tokens, labels, counts, None if factors is None else factors[:, part]


class _Leaves:
    """Detached copies of tensors, whose gradients are passed back at the end."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Tensor, Tensor]] = []

    def of(self, state: State[Any, Any]) -> State[Any, Any]:
        """The same values, with every tensor a leaf."""
        own, shared = (tree_map(self._leaf, part) for part in (state.own, state.shared))
        return replace(state, own=own, shared=shared)

    def backward(self) -> None:
        """Pass the summed gradients of the leaves back to the original tensors."""
        found = [(made, leaf.grad) for made, leaf in self._pairs if leaf.grad is not None]
        if found:
            torch.autograd.backward([made for made, _ in found], [grad for _, grad in found])

    def _leaf(self, tensor: Tensor) -> Tensor:
        if not tensor.requires_grad:
            return tensor
        leaf = tensor.detach().requires_grad_()
        self._pairs.append((tensor, leaf))
        return leaf


def _detach(values: Any) -> Any:
    return tree_map(Tensor.detach, values)
