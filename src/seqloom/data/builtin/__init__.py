"""Data sets that need nothing from the user: each is a function that gives its splits."""

from collections.abc import Callable, Mapping

from seqloom.data.builtin.dates import dates
from seqloom.data.builtin.drawn import digits
from seqloom.data.builtin.moved import clips
from seqloom.data.builtin.played import melody
from seqloom.data.builtin.splits import Splits, write_splits
from seqloom.data.builtin.tatoeba import tatoeba

__all__ = ["BUILTIN", "Splits", "clips", "dates", "digits", "melody", "tatoeba", "write_splits"]

BUILTIN: Mapping[str, Callable[[], Splits]] = {
    "french": tatoeba,
    "dates": dates,
    "digits": digits,
    "melody": melody,
    "clips": clips,
}
