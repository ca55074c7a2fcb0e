"""RELIABILITY C1, C2: every architecture obeys the laws of the decoder protocol."""

from collections.abc import Iterator
from contextlib import contextmanager

import jaxtyping
import pytest
import torch

from tests.checks import Subject, check_decoder, check_wide_beam
from tests.counts import count
from tests.model.models import VARIANTS, case

pytestmark = pytest.mark.faults

CASES = count(50, 2 * len(VARIANTS))


@contextmanager
def shapes_checked_once(number: int) -> Iterator[None]:
    """Checking shapes takes as long as all else, so each kind of model has it in its first case."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", number >= len(VARIANTS))
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@pytest.mark.parametrize("number", range(CASES))
def test_every_decoder_obeys_every_law(number: int) -> None:
    """RELIABILITY C2; the functions of the suite name the laws one by one."""
    model, source, vocabulary, attends = case(number)
    with shapes_checked_once(number):
        check_decoder(model, source, vocabulary=vocabulary, seed=number, attends=attends)


@pytest.mark.parametrize("number", range(CASES, CASES + count(50, 500)))
@torch.no_grad()
def test_a_wide_enough_beam_is_brute_force(number: int) -> None:
    """RELIABILITY C1; half of its cases are among those of every law."""
    model, source, vocabulary, _ = case(number)
    with shapes_checked_once(number):
        check_wide_beam(Subject(model, source, torch.Generator().manual_seed(number), vocabulary))
