"""Inputs and requests as they are sent to other processes."""

import pickle
from typing import Any

import numpy as np
import pytest

from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.request import PredictionRequest
from seqloom.prediction.warnings import InputWarning
from seqloom.search import Beam
from tests.prediction.untrained import untrained


def sent(given: Any) -> Any:
    """What another process receives."""
    return pickle.loads(pickle.dumps(given))  # noqa: S301


@pytest.mark.parametrize(
    "values",
    [
        np.arange(5, dtype=np.int32),
        np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2],
        np.zeros((0, 3), np.uint8),
    ],
    ids=["tokens", "part of a table", "empty"],
)
def test_an_input_is_restored(values: np.ndarray) -> None:
    """All its fields, and values of the same kind and shape that may be written to."""
    given = EncodedInput(3, values, True, (InputWarning("long_input", 7),), "cell", " ", 2)
    found = sent(given)
    assert isinstance(found, EncodedInput)
    assert found._replace(values=values) == given
    assert found.values.dtype == values.dtype
    assert found.values.flags.writeable
    np.testing.assert_array_equal(found.values, values)


def test_equal_requests_are_restored_as_one() -> None:
    """Equal to the one that was sent; others are told apart."""
    model = untrained()
    narrow, wide = (model.decoding_request(PredictionRequest(Beam(width))) for width in (2, 3))
    first, second = sent(narrow), sent(narrow)
    assert first == narrow
    assert first is second
    assert sent(wide) == wide != first
