"""Batches for the tests of losses, and how gradients are compared."""

import pytest
import torch
from torch import Tensor

from seqloom.fields import EMPTY, END
from seqloom.model import SequenceModel
from seqloom.training.loss import Example, Sums
from tests.model.models import sources

__all__ = ["SOURCE_SIZE", "TARGET_SIZE", "assert_equal", "assert_sums", "example", "gradients"]

SOURCE_SIZE, TARGET_SIZE = 9, 11


def example(*, sentences: int, longest: int) -> Example:
    """Targets of one token to `longest`, `<end>` among them, the longest of them that long."""
    lengths = torch.randint(1, longest + 1, (sentences, 1))
    lengths[0] = longest
    steps = torch.arange(longest)
    target = torch.randint(END + 1, TARGET_SIZE, (sentences, longest))
    target = target.masked_fill(steps == lengths - 1, END).masked_fill(steps >= lengths, EMPTY)
    return Example(sources(sentences, size=SOURCE_SIZE), target)


def gradients(model: SequenceModel) -> dict[str, Tensor]:
    """The gradient of every parameter; then there are none."""
    found = {
        name: torch.zeros_like(each) if each.grad is None else each.grad.clone()
        for name, each in model.named_parameters()
    }
    model.zero_grad()
    return found


def assert_sums(actual: Sums, expected: Sums) -> None:
    assert actual == pytest.approx(expected, rel=1e-12)


def assert_equal(actual: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)
