"""Laws of numbers in words and of the names of places."""

import math
from collections.abc import Callable

import pytest

from seqloom.datasets.number_words import (
    BLANK,
    THEN,
    counting,
    missing,
    places,
    sizes,
    spell_number,
)
from seqloom.datasets.splits import Splits


def all_rows(splits: Splits) -> list[tuple[str, str]]:
    return [*splits.train, *splits.valid, *splits.test]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (40, "forty"),
        (99, "ninety-nine"),
        (100, "one hundred"),
        (342, "three hundred and forty-two"),
        (1_000, "one thousand"),
        (2_012, "two thousand and twelve"),
        (7_300, "seven thousand three hundred"),
        (9_999, "nine thousand nine hundred and ninety-nine"),
    ],
)
def test_known_numbers(number: int, words: str) -> None:
    assert spell_number(number) == words


def test_no_two_numbers_are_written_alike() -> None:
    assert len({spell_number(number) for number in range(10_000)}) == 10_000


@pytest.mark.parametrize("make", [sizes, counting, missing, places])
def test_no_row_is_there_twice_and_the_same_seed_gives_the_same(
    make: Callable[..., Splits],
) -> None:
    one, other = (make(seed=4, held_out=60) for _ in range(2))
    assert one == other
    assert one != make(seed=5, held_out=60)
    rows = all_rows(one)
    assert len(set(rows)) == len(rows)
    assert (len(one.valid), len(one.test)) == (60, 60)


def test_a_size_is_the_logarithm_of_its_number() -> None:
    numbers = {spell_number(number): number for number in range(10_000)}
    for words, size in all_rows(sizes()):
        assert float(size) == pytest.approx(math.log10(numbers[words]), abs=1e-4)


def test_a_line_counts_on_and_a_gap_is_one_word_of_it() -> None:
    numbers = {spell_number(number): number for number in range(10_000)}
    for begin, line in all_rows(counting()):
        first, *rest = (numbers[words] for words in line.split(f" {THEN} "))
        assert rest == [first + 1, first + 2]
        assert line.startswith(f"{begin} ")
    for open_line, line in all_rows(missing()):
        pairs = zip(open_line.split(), line.split(), strict=True)
        assert [one for one, other in pairs if one != other] == [BLANK]


def test_places_are_named_in_a_dozen_languages() -> None:
    rows = all_rows(places())
    assert len({language for language, _ in rows}) >= 12
    assert ("French", "Argentine") in rows
