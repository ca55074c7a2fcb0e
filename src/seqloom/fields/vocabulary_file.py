"""A vocabulary that is given as a file: a symbol a line, in that order (S1.3)."""

from collections.abc import Sequence
from pathlib import Path

from seqloom.errors import ConfigError, DataError
from seqloom.tokenizers.specials import END, SPECIAL_SYMBOLS, START

__all__ = ["check_unit", "read_vocabulary", "symbol_rows"]

MOST_SYMBOLS = 1_000_000


def read_vocabulary(path: str) -> list[str]:
    """The symbols of a file; DataError with the line of one that is blank or repeated."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except OSError as error:
        problem = f"the vocabulary cannot be read ({error.strerror or error})"
        raise DataError(problem, place=path, remedy="name its file") from None
    except UnicodeDecodeError:
        problem = "the vocabulary is not UTF-8"
        raise DataError(problem, place=path, remedy="convert it") from None
    if not 0 < len(lines) <= MOST_SYMBOLS:
        problem = f"a vocabulary has 1 to {MOST_SYMBOLS:,} symbols, and this file {len(lines):,}"
        raise DataError(problem, place=path, remedy="write a symbol a line")
    first: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        symbol = line.strip()
        if not symbol:
            place = f"{path}:{number}"
            raise DataError("the line is blank", place=place, remedy="write a symbol a line")
        if symbol in first:
            problem = f"the symbol {symbol!r} is in line {first[symbol]} too"
            raise DataError(problem, place=f"{path}:{number}", remedy="remove one of the two")
        first[symbol] = number
    return list(first)


def symbol_rows(listed: Sequence[str], words: Sequence[str], *, one: bool) -> tuple[int, ...]:
    """The row of every id in a model's tables, -1 for a special symbol that is not listed.

    `listed` is the order of the rows, `words` that of the ids after the special ones. With `one`,
    `<start>` and `<end>` share a row.
    """
    order = list(listed)
    start, end = SPECIAL_SYMBOLS[START], SPECIAL_SYMBOLS[END]
    if one and start in order and end in order:
        order.remove(start)
    places = {symbol: row for row, symbol in enumerate(order)}
    if one:
        shared = places.get(end, places.get(start, -1))
        places |= {start: shared, end: shared}
    return tuple(places.get(symbol, -1) for symbol in (*SPECIAL_SYMBOLS, *words))


def check_unit(unit: str) -> None:
    """ConfigError where a unit does not come from a list of symbols."""
    if unit not in ("symbol", "character"):
        problem = f"a vocabulary's file lists whole symbols, and the unit is {unit}"
        raise ConfigError(problem, remedy="set unit=symbol, or character")
