"""Every encoder obeys the laws of the encoder protocol, and a broken one is noticed."""

import json
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn

from seqloom.model import Memory, Source
from seqloom.nn.recurrent import reverse
from tests.counts import count
from tests.encoder_checks import check_encoder
from tests.model.models import NAMED, model_of, sources

ENCODERS = {
    json.dumps([config.encoder.model_dump(), config.reverse_source, config.one_hot]): name
    for name, config in NAMED.items()
}
"""One model's name for each different encoder."""


@pytest.mark.parametrize("name", list(ENCODERS.values())[:: count(4, 1)])
def test_every_encoder_obeys_every_law(name: str) -> None:
    """RELIABILITY C4, S1.6, S2.6"""
    torch.manual_seed(5)
    model = model_of(NAMED[name], source_size=9, target_size=6)
    check_encoder(model.encoder, sources(4, size=9), seed=5)


class Blurred(nn.Module):
    """Takes padding for content."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def encode(self, source: Source) -> Memory:
        full = torch.full_like(source.lengths, source.values.shape[1])
        memory: Memory = self.inner.encode(Source(source.values, full))
        return Memory(memory.sentences, memory.states, source.mask, memory.code)


@pytest.mark.parametrize("name", ["lstm from map", "plain sinusoids", "gru reads and writes"])
def test_an_encoder_that_reads_padding_fails(name: str) -> None:
    torch.manual_seed(5)
    model = model_of(NAMED[name], source_size=9, target_size=6)
    with pytest.raises(AssertionError):
        check_encoder(Blurred(model.encoder), sources(4, size=9), seed=5)


@pytest.mark.parametrize("name", list(ENCODERS.values())[:: count(4, 1)])
@torch.no_grad()
def test_every_layer_is_the_last_of_an_encoder_cut_above_it(name: str) -> None:
    """S1.5: the last layer's vectors are those that a decoder reads; padding changes none."""
    torch.manual_seed(6)
    encoder = model_of(NAMED[name], source_size=9, target_size=6).encoder
    source = sources(4, size=9)
    if not encoder.sizes.states:
        return
    layers = encoder.layer_states(source)
    for depth in range(1, len(layers) + 1):
        cut = cut_encoder(encoder, depth - 1)
        if cut is not None:
            assert_rows(layers[depth - 1], in_source_order(cut, source), source)
    assert_rows(layers[-1], in_source_order(encoder, source), source)
    for number, length in enumerate(source.lengths.tolist()):
        rows = slice(number, number + 1)
        alone = Source(source.values[rows, :length], source.lengths[rows])
        for mine, other in zip(layers, encoder.layer_states(alone), strict=True):
            torch.testing.assert_close(mine[number, :length], other[0])


def in_source_order(encoder: Any, source: Source) -> torch.Tensor:
    """The states that an encoder hands over, turned back where it hands them over turned."""
    states: torch.Tensor = encoder.encode(source).states
    if not encoder.order.turned:
        return states
    return reverse(states, source.lengths - encoder.order.closing)


def assert_rows(mine: torch.Tensor, other: torch.Tensor, source: Source) -> None:
    """Equal at all real positions."""
    torch.testing.assert_close(mine[source.mask], other[source.mask])


def cut_encoder(encoder: Any, depth: int) -> Any:
    """The encoder with so many layers, at least one; None where none can be cut away."""
    cut = deepcopy(encoder)
    inner = cut
    while hasattr(inner, "inner"):
        inner = inner.inner
    if not depth or not hasattr(inner, "stack" if hasattr(inner, "stack") else "blocks"):
        return None
    if hasattr(inner, "blocks"):
        if depth < len(inner.blocks):
            inner.norm = nn.Identity()
        inner.blocks = inner.blocks[:depth]
        return cut
    for stack in inner.stack.branches.values():
        stack.layers = stack.layers[:depth]
        for number, first in enumerate(stack.first):
            stack.first[number] = nn.Parameter(first[:depth])
    return cut
