"""Dates with names of days and months: classify their language, and tag their words.

Both are generated from CLDR and need no download.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from babel.dates import format_date

from seqloom.datasets.dates import (
    FIRST,
    INVISIBLE,
    LAST,
    LOCALES,
    Style,
    language_name,
    styles,
)
from seqloom.datasets.splits import Splits, split_pairs
from seqloom.randomness import key

__all__ = ["PARTS", "date_words", "languages", "parts"]

PARTS = {"E": "weekday", "c": "weekday", "d": "day", "M": "month", "L": "month", "y": "year"}
OTHER = "other"  # the tag of a word outside the date
QUOTATION = re.compile(r"'[^']*'")
CHUNK = re.compile(r"(?:'[^']*'|[^\s'])+")


class DateWord(NamedTuple):
    """A word of a written date, with its tag."""

    text: str
    part: str


PairMaker = Callable[[date, Style], tuple[str, str] | None]


def languages(*, seed: int = 0, train: int = 4_000, held_out: int = 400) -> Splits:
    """Written dates and the English names of their languages; splits share no text."""
    named = {locale: language_name(locale) for locale in LOCALES}

    def write_pair(day: date, style: Style) -> tuple[str, str] | None:
        text = " ".join(word.text for word in date_words(day, style))
        return text, named[style.locale]

    return _splits("languages", write_pair, (seed, train, held_out), columns=("date", "language"))


def parts(*, seed: int = 0, train: int = 4_000, held_out: int = 400) -> Splits:
    """Written dates with tags: weekday, day, month, year or other."""

    def write_pair(day: date, style: Style) -> tuple[str, str] | None:
        words = date_words(day, style)
        if not set(PARTS.values()) <= {word.part for word in words}:
            return None  # several parts are one word
        return " ".join(word.text for word in words), " ".join(word.part for word in words)

    return _splits("parts", write_pair, (seed, train, held_out), columns=("date", "parts"))


def date_words(day: date, style: Style) -> list[DateWord]:
    """The words of a day in a style; a word of several parts has the tag of the first."""
    words = []
    for chunk in CHUNK.findall(style.pattern):
        letters = QUOTATION.sub("", chunk)
        part = next((PARTS[letter] for letter in letters if letter in PARTS), OTHER)
        text = format_date(day, chunk, locale=style.locale).translate(INVISIBLE)
        words += [DateWord(word, part) for word in text.split()]
    return words


def _splits(
    name: str, write_pair: PairMaker, sizes: tuple[int, int, int], *, columns: tuple[str, str]
) -> Splits:
    """Generate splits of these sizes from a seed."""
    seed, train, held_out = sizes
    rows: dict[str, str] = {}
    unclear = set()
    for day, style in _draws(seed, name):
        found = write_pair(day, style)
        if found is not None and rows.setdefault(*found) != found[1]:
            unclear.add(found[0])
        if len(rows) - len(unclear) >= train + 2 * held_out:
            break
    pairs = [pair for pair in rows.items() if pair[0] not in unclear]
    return split_pairs(name, pairs, held_out, columns)


def _draws(seed: int, name: str) -> Iterator[tuple[date, Style]]:
    """An infinite stream of days, each in a style of a language that names weekday and month."""
    span = (LAST - FIRST).days + 1
    spelt = {
        locale: [s for s in styles(locale) if re.search("E|c", s.pattern) and "MMM" in s.pattern]
        for locale in LOCALES
    }
    known = [locale for locale in LOCALES if spelt[locale]]
    number = 0
    while True:
        of_locale = spelt[known[key(seed, name, "locale", number) % len(known)]]
        style = of_locale[key(seed, name, "style", number) % len(of_locale)]
        yield FIRST + timedelta(days=key(seed, name, "day", number) % span), style
        number += 1
