"""Reading in one line, for tests."""

import pytest
from hypothesis import strategies as st

from seqloom.config import DataConfig
from seqloom.data import Data, Report, read_rows
from seqloom.errors import DataError

__all__ = ["Pairs", "mutated", "read", "read_or_refused", "sentence"]

Pairs = list[tuple[str, str]]


def read(data: Data, **options: str | bool | int) -> Pairs:
    config = DataConfig.model_validate({"header": "no", **options})
    return [(row.source, row.target) for row in read_rows(data, config, Report())]


def sentence(data: Data, **options: str | bool | int) -> str:
    """What a reading with these options ends in."""
    with pytest.raises(DataError) as caught:
        read(data, **{"header": "auto", **options})
    return str(caught.value)


def mutated(data: st.DataObject, text: str) -> bytes:
    """The text with a few bytes out of place."""
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=4))
    return bytes(raw)


def read_or_refused(data: Data, **options: str | bool | int) -> Pairs | str:
    """The rows that can be used, or the one sentence that says why there are none."""
    try:
        return read(data, skip_bad=True, **options)
    except DataError as error:
        return "" if "\n" in str(error) else str(error)
