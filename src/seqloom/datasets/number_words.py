"""Numbers in English words, with their sizes and successors; and names of places.

Nothing is downloaded: numbers are written by rule, and names come from CLDR.
"""

import math
from random import Random

from babel import Locale

from seqloom.datasets.dates import LOCALES, language_name
from seqloom.datasets.splits import Splits, split_pairs
from seqloom.randomness import key

__all__ = ["counting", "missing", "places", "sizes", "spell_number"]

LARGEST = 9_999
NUMBERS_PER_LINE = 3  # numbers per line
HIGHEST = 997  # first number of a line: the last is below a thousand
THEN = "then"
BLANK = "___"
SMALL = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spell_number(number: int) -> str:
    """Write a number from 0 to 9,999 in words: 342 is three hundred and forty-two."""
    if number < len(SMALL):
        return SMALL[number]
    if number < 100:
        tens, rest = TENS[number // 10 - 2], number % 10
        return f"{tens}-{SMALL[rest]}" if rest else tens
    size, name = (100, "hundred") if number < 1_000 else (1_000, "thousand")
    whole, rest = divmod(number, size)
    joined = " and " if 0 < rest < 100 else " "
    return f"{SMALL[whole]} {name}{joined + spell_number(rest) if rest else ''}"


def sizes(*, seed: int = 0, train: int = 4_000, held_out: int = 400) -> Splits:
    """Numbers in words, and their logarithms to base ten."""
    numbers = _sample_numbers(LARGEST, train + 2 * held_out, Random(key(seed, "sizes")))
    pairs = [(spell_number(number), f"{math.log10(number):.4f}") for number in numbers]
    return split_pairs("sizes", pairs, held_out, ("number", "logarithm"))


def counting(*, seed: int = 0, train: int = 780, held_out: int = 100) -> Splits:
    """A number in words, and a line that counts on from it; splits share no line."""
    numbers = _sample_numbers(HIGHEST, train + 2 * held_out, Random(key(seed, "counting")))
    pairs = [(f"{spell_number(number)} {THEN}", _line(number)) for number in numbers]
    return split_pairs("counting", pairs, held_out, ("beginning", "line"))


def missing(*, seed: int = 0, train: int = 780, held_out: int = 100) -> Splits:
    """Such lines with a word missing, and the complete lines."""
    chance = Random(key(seed, "missing"))
    numbers = _sample_numbers(HIGHEST, train + 2 * held_out, chance)
    pairs = [(_with_blank(_line(number), chance), _line(number)) for number in numbers]
    return split_pairs("missing", pairs, held_out, ("with a gap", "whole"))


def places(*, seed: int = 0, held_out: int = 200) -> Splits:
    """Languages, and names of countries and other places in them; splits share no pair."""
    rows = dict.fromkeys(
        (language_name(locale), name)
        for locale in LOCALES
        for name in Locale.parse(locale).territories.values()
    )
    pairs = list(rows)
    Random(key(seed, "places")).shuffle(pairs)
    return split_pairs("places", pairs, held_out, ("language", "a real name"))


def _sample_numbers(largest: int, count: int, chance: Random) -> list[int]:
    return chance.sample(range(1, largest + 1), count)


def _line(number: int) -> str:
    return f" {THEN} ".join(map(spell_number, range(number, number + NUMBERS_PER_LINE)))


def _with_blank(line: str, chance: Random) -> str:
    words = line.split()
    words[chance.randrange(len(words))] = BLANK
    return " ".join(words)
