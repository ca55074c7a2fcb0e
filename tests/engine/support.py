"""Searches inside the core beside those in Python: how they are set up and compared."""

import numpy as np
import pytest

from seqloom.engine.from_network import decoder_arrays, encoder_arrays, plan_of
from seqloom.engine.loop import SearchPlan
from seqloom.engine.matrices import Precision
from seqloom.engine.stacks import PackedStack
from seqloom.model import SequenceModel, Source
from seqloom.search import (
    Hypothesis,
    Search,
)

__all__ = ["assert_same", "plan", "rows_of", "stacks"]


def stacks(
    model: SequenceModel, precision: Precision = "float32"
) -> tuple[PackedStack, PackedStack]:
    """Both sides of a model in the core."""
    encoder, decoder = encoder_arrays(model.encoder), decoder_arrays(model.decoder)
    assert not isinstance(encoder, str)
    assert not isinstance(decoder, str)
    return PackedStack.of(encoder, precision), PackedStack.of(decoder, precision)


def rows_of(source: Source) -> list[np.ndarray]:
    pairs = zip(source.values, source.lengths.tolist(), strict=True)
    return [row[:length].numpy() for row, length in pairs]


def plan(search: Search) -> SearchPlan:
    found = plan_of(search)
    assert found is not None
    return found


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert [each.tokens for each in ours] == [each.tokens for each in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.finished == other.finished
            assert one.token_scores == pytest.approx(other.token_scores, abs=1e-4)
            assert one.rank_score == pytest.approx(other.rank_score, abs=1e-4)
