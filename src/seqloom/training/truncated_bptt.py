"""Backpropagation through time that goes back a limited number of steps (SPEC S6.2).

The target is read in chunks. A chunk begins with the state that the one before left, detached, and
its graph is gone before the next is read: memory is bounded by the chunk. What all chunks know of
the source is a leaf whose gradient adds up over them, and goes back through the encoder once.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.fields import START
from seqloom.model import SequenceModel, State
from seqloom.model.state import each_tensor
from seqloom.training.free_running import Fed, Reading, fed_freely, taught
from seqloom.training.loss import (
    Cost,
    Example,
    Sums,
    backward_through,
    counted,
    lengthened,
    products_in,
)

__all__ = ["Carried", "backward_truncated"]


class Carried(NamedTuple):
    """Where the reading of a long text stands: the state, without its history, and the token that
    is read next."""

    state: State[Any, Any]
    token: Int[Tensor, "B"]


def backward_truncated(
    model: SequenceModel, example: Example, cost: Cost, *, steps: int, first: Carried | None = None
) -> tuple[Sums, Carried]:
    """As `backward`, with gradients that end where a chunk of so many steps begins.

    Text that goes on from an earlier piece begins with what that `Carried`, and reads no source.
    """
    leaves, fed = _Leaves(), taught(example.target)
    if first is None:
        with products_in(cost.precision):
            memory = model.encoder.encode(example.source)
            if example.freedom is not None:
                fed = fed_freely(model, memory, example.target, example.freedom)
            started = leaves.of(model.decoder.start(memory))
        first = Carried(started, torch.full_like(example.target[:, 0], START))
    state, token = first
    totals = Sums(0.0, 0.0, 0)
    for tokens, labels, counts, factors in _chunks(fed, example.factors, steps):
        with products_in(cost.precision):
            inputs = torch.cat([token[:, None], tokens[:, :-1]], dim=1)
            features, state = model.decoder.read(inputs, state)
            found = counted(model, Reading(features.hidden, labels, counts), factors)
        totals = totals.plus(backward_through(model, found, cost))
        state, token = replace(state, own=_detached(state.own)), tokens[:, -1]
    leaves.backward()
    return totals, Carried(replace(state, shared=_detached(state.shared)), token)


def _chunks(
    fed: Fed, factors: Tensor | None, steps: int
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor | None]]:
    """The same steps of each, so many at a time."""
    factors = lengthened(factors, fed.labels)
    for begin in range(0, fed.labels.shape[1], steps):
        part = slice(begin, begin + steps)
        tokens, labels, counts = (each[:, part] for each in fed)
        yield tokens, labels, counts, None if factors is None else factors[:, part]


class _Leaves:
    """Tensors cut off from what made them, which gets their gradients in the end."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Tensor, Tensor]] = []

    def of(self, state: State[Any, Any]) -> State[Any, Any]:
        """The same state, made of leaves."""
        own, shared = (each_tensor(self._leaf, part) for part in (state.own, state.shared))
        return replace(state, own=own, shared=shared)

    def backward(self) -> None:
        """Hand the gradients that have added up to what made the leaves, all at once."""
        found = [(made, leaf.grad) for made, leaf in self._pairs if leaf.grad is not None]
        if found:
            torch.autograd.backward([made for made, _ in found], [grad for _, grad in found])

    def _leaf(self, tensor: Tensor) -> Tensor:
        if not tensor.requires_grad:
            return tensor
        leaf = tensor.detach().requires_grad_()
        self._pairs.append((tensor, leaf))
        return leaf


def _detached(values: Any) -> Any:
    return each_tensor(Tensor.detach, values)
