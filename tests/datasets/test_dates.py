"""Laws of the written dates: one text, one day; nothing held out was seen."""

from datetime import date, timedelta

import pytest

from seqloom.datasets.dates import LOCALES, Style, dates, spell, styles
from seqloom.datasets.splits import Splits


@pytest.fixture(scope="module")
def small() -> Splits:
    return dates(seed=3, train=4_000, held_out=400)


def every_style() -> list[Style]:
    return [style for locale in LOCALES for style in styles(locale)]


def test_no_text_is_two_days() -> None:
    """Every day of a year in every style: a text that comes up twice means the same day."""
    days = [date(2023, 1, 1) + timedelta(days=n) for n in range(365)]
    meaning: dict[str, date] = {}
    for style in every_style():
        for day in days:
            text = spell(day, style)
            if text is not None:
                assert meaning.setdefault(text, day) == day, (text, style)


def test_swapped_day_and_month_are_never_both_readable() -> None:
    """With slashes and the year last, leading zeros do not tell the day from the month."""
    for style in every_style():
        if "/" in style.pattern and not style.pattern.startswith("y"):
            assert spell(date(2024, 5, 3), style) is None
            assert spell(date(2024, 5, 13), style) is not None
            assert spell(date(2024, 5, 5), style) is not None


def test_at_least_twelve_languages_and_many_styles_each() -> None:
    """Issue of the demo: at least 12 languages; the count is of languages, not of countries."""
    assert len({style.language for style in every_style()}) >= 12
    assert all(len(styles(locale)) >= 5 for locale in LOCALES)


@pytest.mark.parametrize(
    ("style", "day", "text"),
    [
        (Style("en", "EEEE, MMMM d, y"), date(2024, 5, 3), "Friday, May 3, 2024"),
        (Style("en", "MMMM d, y", ordinal=True), date(2024, 5, 1), "May 1st, 2024"),
        (Style("en", "MMMM d, y", ordinal=True), date(2024, 5, 12), "May 12th, 2024"),
        (Style("en", "MMMM d, y", ordinal=True), date(2024, 5, 23), "May 23rd, 2024"),
        (Style("fr", "d MMMM y", ordinal=True), date(2024, 5, 1), "1er mai 2024"),
        (Style("fr", "d MMMM y", ordinal=True), date(2024, 5, 2), "2 mai 2024"),
        (Style("ja", "y年M月d日EEEE"), date(2024, 5, 3), "2024年5月3日金曜日"),
    ],
)
def test_known_spellings(style: Style, day: date, text: str) -> None:
    assert spell(day, style) == text


def test_targets_are_iso_dates_and_sources_are_unique_over_all_splits(small: Splits) -> None:
    rows = [*small.train, *small.valid, *small.test]
    assert (len(small.train), len(small.valid), len(small.test)) == (4_000, 400, 400)
    assert len({source for source, _ in rows}) == len(rows)
    for source, target in rows:
        assert date.fromisoformat(target).isoformat() == target
        assert source == " ".join(source.split())
        assert source.isprintable()


def test_held_out_rows_are_new_days_or_days_known_in_other_languages_only(small: Splits) -> None:
    """A text may be of two languages, so one of its own must be needed for no seen text."""
    seen_days = {target for _, target in small.train}
    seen_texts: dict[str, set[str]] = {}
    for source, target in small.train:
        seen_texts.setdefault(target, set()).add(source)
    for part in (small.valid, small.test):
        assert sum(target not in seen_days for _, target in part) == len(part) // 2
        for source, target in part:
            seen = [_languages(text, target) for text in seen_texts.get(target, ())]
            mine = _languages(source, target)
            assert any(all(others - {language} for others in seen) for language in mine)


def _languages(text: str, target: str) -> set[str]:
    day = date.fromisoformat(target)
    return {style.language for style in every_style() if spell(day, style) == text}


def test_every_style_is_in_the_training_part() -> None:
    """A style is seen when some training text can only be its own or a twin's."""
    texts = dict(dates(seed=0, train=8_000, held_out=10).train)
    by_day: dict[str, set[str]] = {}
    for source, target in texts.items():
        by_day.setdefault(target, set()).add(source)
    for style in every_style():
        assert any(spell(date.fromisoformat(day), style) in by_day[day] for day in by_day), style


def test_a_seed_gives_one_data_set_and_another_seed_another() -> None:
    """RELIABILITY: randomness is a function of the seed."""
    first, again, other = (dates(seed=seed, train=200, held_out=20) for seed in (1, 1, 2))
    assert first == again
    assert first.train != other.train
