"""Laws of the dates with names: a text has one language, and a word one part."""

from collections.abc import Callable
from datetime import date

import pytest

from seqloom.datasets.date_formats import OTHER, PARTS, date_words, languages, parts
from seqloom.datasets.dates import Style
from seqloom.datasets.splits import Splits


def all_rows(splits: Splits) -> list[tuple[str, str]]:
    return [*splits.train, *splits.valid, *splits.test]


@pytest.mark.parametrize("make", [languages, parts])
def test_a_text_is_there_once_and_the_same_seed_gives_the_same(make: Callable[..., Splits]) -> None:
    one, other = (make(seed=4, train=500, held_out=60) for _ in range(2))
    assert one == other
    assert one != make(seed=5, train=500, held_out=60)
    rows = all_rows(one)
    assert len({source for source, _ in rows}) == len(rows) == 620
    assert (len(one.valid), len(one.test)) == (60, 60)


def test_a_dozen_languages_by_their_english_names() -> None:
    rows = all_rows(languages(train=600, held_out=50))
    names = {target for _, target in rows}
    assert len(names) >= 12
    assert {"French", "Greek", "Korean"} <= names


def test_every_word_has_a_part_and_every_part_a_word() -> None:
    for source, target in all_rows(parts(train=600, held_out=50)):
        tags = target.split()
        assert len(source.split()) == len(tags)
        assert set(PARTS.values()) <= set(tags) <= {*PARTS.values(), OTHER}
        years = [word for word, tag in zip(source.split(), tags, strict=True) if tag == "year"]
        assert all(sum(map(str.isdecimal, year)) == 4 for year in years)


@pytest.mark.parametrize(
    ("style", "written"),
    [
        (Style("en", "EEEE, MMMM d, y"), "Tuesday,/weekday March/month 3,/day 2026/year"),
        (Style("it", "EEE d MMM y"), "mar/weekday 3/day mar/month 2026/year"),
        (
            Style("es", "EEEE, d 'de' MMMM 'de' y"),
            "martes,/weekday 3/day de/other marzo/month de/other 2026/year",
        ),
    ],
)
def test_known_words(style: Style, written: str) -> None:
    words = date_words(date(2026, 3, 3), style)
    assert " ".join(f"{word.text}/{word.part}" for word in words) == written
