"""A conformance suite for whatever claims the encoder protocol."""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from seqloom.fields import EMPTY, END
from seqloom.model import Memory, Source

__all__ = ["check_encoder"]

EXACT = 1e-9  # of float64
CLOSE = 1e-4  # of float32


@torch.no_grad()
def check_encoder(encoder: Any, source: Source, *, seed: int) -> None:
    """Prove every law for this encoder, a module in float64 and evaluation mode.

    What it hands over knows the number of sentences, marks just the real positions, and has for
    each sentence what it would have for that one alone; in float32, nearly so.
    """
    together = encoder.encode(source)
    check_sizes(together, source)
    random = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(source.lengths), generator=random)
    other = Source(source.values[order], source.lengths[order])
    turned = encoder.encode(other)
    for number, original in enumerate(order.tolist()):
        assert_same(one(turned, number, other), one(together, original, source))
    padded = encoder.encode(repadded(source, random))
    for number, length in enumerate(source.lengths.tolist()):
        mine = one(together, number, source)
        rows = slice(number, number + 1)
        alone = Source(source.values[rows, :length], source.lengths[rows])
        assert_same(one(encoder.encode(alone), 0, alone), mine)
        assert_same(one(padded, number, source), mine)
    rounded = deepcopy(encoder).float().encode(source)
    for number in range(len(source.lengths)):
        assert_same(one(rounded, number, source), one(together, number, source), CLOSE)


def check_sizes(memory: Memory, source: Source) -> None:
    """The mask is that of the source, and everything has a row for each sentence."""
    assert memory.sentences == len(source.lengths)
    assert (memory.states is None) == (memory.mask is None)
    if memory.states is not None and memory.mask is not None:
        assert torch.equal(memory.mask, source.mask)
        assert memory.states.shape[:2] == source.values.shape
    assert all(len(part) == memory.sentences for part in memory.code or ())


def one(memory: Memory, number: int, source: Source) -> list[Tensor]:
    """All that is handed over for one sentence, without padding."""
    states = [] if memory.states is None else [memory.states[number, : source.lengths[number]]]
    return [*states, *(part[number] for part in memory.code or ())]


def repadded(source: Source, random: torch.Generator) -> Source:
    """The same sentences with three more columns, and any special symbol in the padding."""
    wider = torch.nn.functional.pad(source.values, (0, 3))
    real = torch.arange(wider.shape[1]) < source.lengths[:, None]
    anything = torch.randint(EMPTY, END + 1, wider.shape, generator=random)
    return Source(wider.where(real, anything), source.lengths)


def assert_same(actual: list[Tensor], expected: list[Tensor], tolerance: float = EXACT) -> None:
    assert len(actual) == len(expected)
    for mine, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(
            mine, other, rtol=0, atol=tolerance, check_dtype=False, check_stride=False
        )
