"""Scores over all pairs, in blocks: the same numbers and gradients in less memory."""

import math

import pytest
import torch
from torch import Tensor

from seqloom.nn.attention import pairwise as pairs
from seqloom.nn.attention.pairwise import PairNetwork, ReluPairs, TanhPairs, score_pairs
from tests.nn.parts import values

pytestmark = pytest.mark.faults

WIDTH = 3
NETWORKS = [TanhPairs, ReluPairs]


def inputs_of(network: type[PairNetwork], *, sentences: int = 3) -> list[Tensor]:
    """Queries, keys and the network's weights."""
    weights = [values(WIDTH)]
    if network is ReluPairs:
        weights += [values(WIDTH, WIDTH), values(WIDTH)]
    drawn = [values(sentences, 5, WIDTH), values(sentences, 4, WIDTH), *weights]
    return [tensor.requires_grad_() for tensor in drawn]


def plain(network: type[PairNetwork], queries: Tensor, keys: Tensor, *weights: Tensor) -> Tensor:
    """The formula on one tensor of all pairs."""
    whole = queries[:, :, None] + keys[:, None]
    if network is TanhPairs:
        return whole.tanh() @ weights[0]
    return (whole.relu() @ weights[1].T + weights[2]).relu() @ weights[0]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("block", [1, 12, 24, 59, 60, 130, 2**18])
def test_blocks_of_any_size_give_the_numbers_of_the_whole(
    network: type[PairNetwork], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY C4: a sentence has 60 values here, a query 12; scores and every gradient."""
    monkeypatch.setattr(pairs, "BLOCK", block)
    inputs = inputs_of(network)
    found, expected = score_pairs(network, *inputs), plain(network, *inputs)
    torch.testing.assert_close(found, expected)
    change = values(*found.shape)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs, change), torch.autograd.grad(expected, inputs, change)
    )
    with torch.no_grad():
        torch.testing.assert_close(score_pairs(network, *inputs), expected)


@pytest.mark.parametrize("network", NETWORKS)
def test_gradients_are_the_numerical_ones(
    network: type[PairNetwork], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY C4: gradcheck of every value, across blocks."""
    monkeypatch.setattr(pairs, "BLOCK", 25)
    inputs = inputs_of(network, sentences=2)
    assert torch.autograd.gradcheck(lambda *given: score_pairs(network, *given), inputs)


@pytest.mark.parametrize("network", NETWORKS)
def test_inputs_stay_as_they_were(network: type[PairNetwork]) -> None:
    """Blocks are written over; what they are made of is not."""
    inputs = inputs_of(network)
    before = [tensor.detach().clone() for tensor in inputs]
    score_pairs(network, *inputs).sum().backward()
    for tensor, copy in zip(inputs, before, strict=True):
        assert torch.equal(tensor, copy)


@pytest.mark.parametrize("network", NETWORKS)
def test_training_keeps_only_what_pairs_are_made_of(network: type[PairNetwork]) -> None:
    """What waits for the gradient grows with Q + S and not with Q · S."""
    inputs, kept = inputs_of(network), list[int]()

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        score_pairs(network, *inputs)
    assert sum(kept) == sum(tensor.numel() for tensor in inputs)


@pytest.mark.parametrize("network", NETWORKS)
def test_blocks_are_no_larger_than_told(
    network: type[PairNetwork], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless a single query of a sentence is."""
    sizes = list[int]()

    class Watched:
        @staticmethod
        def score(pairs: Tensor, *weights: Tensor) -> Tensor:
            sizes.append(pairs.numel())
            return network.score(pairs, *weights)

        @staticmethod
        def gradients(change: Tensor, pairs: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
            sizes.append(pairs.numel())
            return network.gradients(change, pairs, *weights)

    for block, largest in [(1, 12), (30, 24), (60, 60), (121, 120)]:
        monkeypatch.setattr(pairs, "BLOCK", block)
        sizes.clear()
        score_pairs(Watched, *inputs_of(network)).sum().backward()
        assert max(sizes) == largest
        assert sum(sizes) == 2 * math.prod([3, 5, 4, WIDTH])
