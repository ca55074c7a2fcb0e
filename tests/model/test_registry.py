"""Every choice has a part that implements it."""

from typing import Any

import pytest

import seqloom.config as options
from seqloom.registry import Family

FAMILIES = [
    *("UNITS", "SCORES", "ATTENTIONS", "POSITIONS", "ENCODERS", "DECODERS", "HEADS"),
    *("FRONT_ENDS", "OPTIMIZERS", "SCHEDULES", "FORCING"),
]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_choice_has_a_part(name: str) -> None:
    family: Family[Any, Any] = getattr(options, name)
    assert family.kinds()
    assert all(callable(family.parts[kind]) for kind in family.kinds())
