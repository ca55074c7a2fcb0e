"""Tests that leave the checking of shapes to others: it takes longer than all they compute."""

from collections.abc import Iterator

import jaxtyping
import pytest

__all__ = ["without_shapes"]


@pytest.fixture(autouse=True)
def without_shapes() -> Iterator[None]:
    """Shapes are not checked in any test of a module that imports this."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
