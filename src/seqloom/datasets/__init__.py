"""Built-in data sets: functions that return their splits."""

from collections.abc import Callable, Mapping

from seqloom.datasets.cats import cats
from seqloom.datasets.date_formats import languages, parts
from seqloom.datasets.dates import dates
from seqloom.datasets.digit_images import digits
from seqloom.datasets.melodies import melody
from seqloom.datasets.number_words import counting, missing, places, sizes
from seqloom.datasets.shape_videos import clips
from seqloom.datasets.splits import Splits, write_splits
from seqloom.datasets.tatoeba import tatoeba

__all__ = [
    "BUILTIN",
    "Splits",
    "cats",
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
    "cats": cats,
}
