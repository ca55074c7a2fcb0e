"""Dates as written in many languages, and their ISO 8601 form, generated from CLDR."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from babel import Locale
from babel.dates import format_date

from seqloom.datasets.splits import Splits
from seqloom.randomness import key

__all__ = [
    "FIRST",
    "INVISIBLE",
    "LAST",
    "LOCALES",
    "Style",
    "dates",
    "language_name",
    "spell",
    "styles",
]

LOCALES = (
    *("ar", "de", "el", "en", "en_GB", "es", "fr", "hi", "hu", "it"),
    *("ja", "ko", "nl", "pl", "pt", "ru", "sv", "tr", "zh"),
)
LENGTHS = ("full", "long", "medium", "short")
SKELETONS = ("yMd", "yMEd", "yMMMd", "yMMMEd", "yMMMMd", "yMMMMEd", "yMMMMEEEEd")
ORDINALS = {
    "en": {"one": "st", "two": "nd", "few": "rd", "other": "th"},
    "fr": {"one": "er"},
}
FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
INVISIBLE = dict.fromkeys(map(ord, "\u200e\u200f\u061c"))


class Style(NamedTuple):
    """A style of writing a date: a CLDR pattern of a locale, with cardinal or ordinal days."""

    locale: str
    pattern: str
    ordinal: bool = False

    @property
    def language(self) -> str:
        """The language without the country."""
        return self.locale.split("_")[0]


class DateRow(NamedTuple):
    """A day and a style to write it in."""

    day: date
    style: Style


def dates(*, seed: int = 0, train: int = 25_000, held_out: int = 1_000) -> Splits:
    """Written dates to YYYY-MM-DD; a source occurs in one split only and has one target.

    Half of the validation and test rows are days absent from the training data; the other half are
    days that training has in other languages only.
    """
    taken: set[str] = set()
    shown = _take(
        _draws(seed, "train"), train, lambda row: not _is_held_out(seed, row.day), taken=taken
    )
    days = {row.day for row in shown.values()}
    together = {(row.day, row.style.language) for row in shown.values()}

    def is_new_day(row: DateRow) -> bool:
        return _is_held_out(seed, row.day)

    def is_new_pair(row: DateRow) -> bool:
        return row.day in days and (row.day, row.style.language) not in together

    def held_out_rows(name: str) -> dict[str, DateRow]:
        draws = _draws(seed, name)
        new_days = _take(draws, held_out // 2, is_new_day, taken=taken)
        return new_days | _take(draws, held_out - held_out // 2, is_new_pair, taken=taken)

    return Splits(
        name="dates",
        train=_pairs(shown),
        valid=_pairs(held_out_rows("valid")),
        test=_pairs(held_out_rows("test")),
        columns=("date", "ISO 8601"),
    )


def language_name(locale: str) -> str:
    """The English name of a locale's language."""
    return str(Locale.parse(locale.partition("_")[0]).get_language_name("en"))


@cache
def styles(locale: str) -> tuple[Style, ...]:
    """Every distinct pattern of a locale with day, month and year, the year with four digits."""
    facts = Locale.parse(locale)
    patterns = [facts.date_formats[length].pattern for length in LENGTHS]
    patterns += [
        facts.datetime_skeletons[name].pattern
        for name in SKELETONS
        if name in facts.datetime_skeletons
    ]
    whole = dict.fromkeys(re.sub("y+", "y", pattern) for pattern in patterns)
    plain = [Style(locale, pattern) for pattern in whole]
    with_ordinals = [
        Style(locale, style.pattern, ordinal=True)
        for style in plain
        if style.language in ORDINALS and "MMM" in style.pattern
    ]
    return (*plain, *with_ordinals)


def spell(day: date, style: Style) -> str | None:
    """Write the day in the style; None if the text is ambiguous.

    3/5 is in March or in May by country, so with slashes and the year last only a day that cannot
    be a month is written. Spaces are plain, and invisible direction marks are left out.
    """
    numeric = "/" in style.pattern and not style.pattern.startswith("y")
    if numeric and day.day <= 12 and day.day != day.month:
        return None
    pattern = style.pattern
    if style.ordinal:
        form = Locale.parse(style.locale).ordinal_form(day.day)
        suffix = ORDINALS[style.language].get(form)
        pattern = pattern.replace("d", f"d'{suffix}'") if suffix else pattern
    text = format_date(day, pattern, locale=style.locale).translate(INVISIBLE)
    return " ".join(unicodedata.normalize("NFC", text).split())


def _draws(seed: int, *names: str) -> Iterator[DateRow]:
    """An infinite stream: a day, a language and one of its styles, all drawn uniformly."""
    span = (LAST - FIRST).days + 1
    number = 0
    while True:
        of_locale = styles(LOCALES[key(seed, "dates", *names, "locale", number) % len(LOCALES)])
        style = of_locale[key(seed, "dates", *names, "style", number) % len(of_locale)]
        day = FIRST + timedelta(days=key(seed, "dates", *names, "day", number) % span)
        yield DateRow(day, style)
        number += 1


def _is_held_out(seed: int, day: date) -> bool:
    """Whether this day is held out of the training data in all languages; one in ten is."""
    return key(seed, "dates", "held out", day.toordinal()) % 10 == 0


def _take(
    draws: Iterator[DateRow], count: int, is_wanted: Callable[[DateRow], bool], *, taken: set[str]
) -> dict[str, DateRow]:
    """The first accepted draws whose text is new, by that text."""
    rows: dict[str, DateRow] = {}
    while len(rows) < count:
        row = next(draws)
        text = spell(row.day, row.style) if is_wanted(row) else None
        if text is not None and text not in taken:
            taken.add(text)
            rows[text] = row
    return rows


def _pairs(rows: dict[str, DateRow]) -> list[tuple[str, str]]:
    return [(text, row.day.isoformat()) for text, row in rows.items()]
