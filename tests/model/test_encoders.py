"""Every encoder obeys the laws of the encoder protocol, and a broken one is noticed."""

import json
from typing import Any

import pytest
import torch
from torch import nn

from seqloom.model import Memory, Source
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
