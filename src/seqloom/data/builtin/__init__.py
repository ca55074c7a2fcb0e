"""Data sets that need nothing from the user: each is a function that gives its splits."""

from collections.abc import Callable, Mapping

from seqloom.data.builtin.counted import counting, missing, places, sizes
from seqloom.data.builtin.dates import dates
from seqloom.data.builtin.drawn import digits
from seqloom.data.builtin.moved import clips
from seqloom.data.builtin.played import melody
from seqloom.data.builtin.splits import Splits, write_splits
from seqloom.data.builtin.tatoeba import tatoeba
from seqloom.data.builtin.written import languages, parts

__all__ = [
    "BUILTIN",
    "Splits",
    "clips",
    "counting",
    "dates",
    "digits",
    "languages",
    "melody",
    "missing",
    "parts",
    "places",
    "sizes",
    "tatoeba",
    "write_splits",
]

BUILTIN: Mapping[str, Callable[[], Splits]] = {
    "french": tatoeba,
    "dates": dates,
    "languages": languages,
    "parts": parts,
    "sizes": sizes,
    "places": places,
    "counting": counting,
    "missing": missing,
    "digits": digits,
    "melody": melody,
    "clips": clips,
}
