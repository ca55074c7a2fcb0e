"""A server of two tiny models, shared by the tests that only ask it."""

from collections.abc import Iterator

import pytest

from seqloom.prediction import TextPredictor
from tests.prediction.untrained import untrained
from tests.serving.browsing import browser
from tests.serving.support import Served, serving
from tests.shapes import without_shapes

__all__ = ["browser", "without_shapes"]


@pytest.fixture(scope="session")
def models() -> dict[str, TextPredictor]:
    return {"first": untrained("transformer"), "second": untrained("lstm", seed=2)}


@pytest.fixture(scope="session")
def served(models: dict[str, TextPredictor]) -> Iterator[Served]:
    with serving(models) as server:
        yield server
