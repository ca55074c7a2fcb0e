"""Reading in one line, for tests."""

import pytest

from seqloom.config import DataConfig
from seqloom.data import Data, Report, read_rows
from seqloom.errors import DataError

__all__ = ["Pairs", "read", "sentence"]

Pairs = list[tuple[str, str]]


def read(data: Data, **options: str | bool | int) -> Pairs:
    config = DataConfig.model_validate({"header": "no", **options})
    return [(row.source, row.target) for row in read_rows(data, config, Report())]


def sentence(data: Data, **options: str | bool | int) -> str:
    """What a reading with these options ends in."""
    with pytest.raises(DataError) as caught:
        read(data, **{"header": "auto", **options})
    return str(caught.value)
