"""What every way of cutting text offers, and the two simplest: bytes and characters (S1.3)."""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappush, heappushpop
from itertools import chain
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from seqloom.config.columns import TextConfig
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.tokenizers.chunks import FlatIds
from seqloom.tokenizers.offsets import Offsets, consecutive, prefix_offsets
from seqloom.tokenizers.specials import SPECIAL_SYMBOLS, UNK, FieldState

__all__ = [
    "BYTE_CONTENTS",
    "NOTHING_LEARNT",
    "ByteTokenizer",
    "CharacterTokenizer",
    "Ids",
    "LearntTexts",
    "SymbolIds",
    "SymbolTokenizer",
    "TextObserver",
    "Tokenizer",
    "most_frequent",
    "new_symbols",
    "parse_symbols",
    "prune_counts",
    "split_symbols",
    "visible",
]

Ids = NDArray[np.int32]
Countable = TypeVar("Countable", bound=Hashable)

BYTE_CONTENTS = (
    *(symbol.encode() for symbol in SPECIAL_SYMBOLS),
    *(bytes((byte,)) for byte in range(256)),
)
"""What the first ids of bytes and subwords stand for: the special symbols, then every byte."""

_SPECIALS = len(SPECIAL_SYMBOLS)
_LARGEST_COUNT = 4_000_000  # distinct symbols held while counting
_LONGEST_SYMBOL = 4_096
_SYMBOL = re.compile(r"\n|[^ \n]+")


class Tokenizer(Protocol):
    """Normalised text to ids and back; ids below four are special and never come from text."""

    @property
    def size(self) -> int:
        """Number of ids, the special ones included."""

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Make a vocabulary in one pass over the texts, in memory that does not grow with them."""

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """The tokenizer that `saved` came from; RunError where it cannot have come from one."""

    def state(self) -> FieldState:
        """All that `restore` needs."""

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """The same ids for all that it knows, and further ones for what else the texts hold."""

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text."""

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """The same one after the other, which is faster for thousands of texts."""

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """Where each of the ids of a text stands in it; whoever has the ids gives them."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids among which only `<unk>` may be special."""

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """Where each of the ids stands in their text."""

    def show(self, token: int) -> str:
        """One token that is not special, as a reader would like to see it."""


@dataclass(frozen=True)
class ByteTokenizer:
    """The 256 bytes of UTF-8, each one token."""

    size: int = len(BYTE_CONTENTS)

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """There is nothing to learn; the texts are not read."""
        return cls()

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """Nothing is saved beyond the unit's name."""
        return cls()

    def state(self) -> FieldState:
        """Nothing beyond the unit's name."""
        return FieldState({})

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """It knows every byte already."""
        return self

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """Each byte moved up past the special ids."""
        return [
            np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int32) + np.int32(_SPECIALS)
            for text in texts
        ]

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """The bytes of all texts at once."""
        parts = [text.encode() for text in texts]
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        return FlatIds(np.frombuffer(b"".join(parts), np.uint8) + np.int32(_SPECIALS), lengths)

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """For each byte the character that it is part of."""
        return [
            (place, place + 1) for place, char in enumerate(text) for _ in range(len(char.encode()))
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """The text; bytes that are not UTF-8 become U+FFFD."""
        content = b"".join([BYTE_CONTENTS[token] for token in ids])
        return content.decode(errors="replace")

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """A character belongs to the first of its bytes."""
        return prefix_offsets(ids, self.decode)

    def show(self, token: int) -> str:
        """The letter of a printable ASCII byte, otherwise its number."""
        byte = token - _SPECIALS
        return chr(byte) if 0x20 < byte < 0x7F else f"<0x{byte:02X}>"


class SymbolIds(dict[str, int]):
    """The id of each symbol, `<unk>` for others; or, in any case, the id of the first symbol that
    differs in capitals alone."""

    def __init__(self, symbols: Sequence[str], *, any_case: bool = False) -> None:
        super().__init__({symbol: id_ for id_, symbol in enumerate(symbols, start=_SPECIALS)})
        reverse = reversed(self.items()) if any_case else ()
        self._folded = {symbol.casefold(): id_ for symbol, id_ in reverse}

    def find(self, symbol: str) -> int:
        """The id of a symbol that may be unknown."""
        found = self.get(symbol)
        return self._folded.get(symbol.casefold(), UNK) if found is None else found


class SymbolTokenizer:
    """What stands between spaces is one token; what is outside the vocabulary is `<unk>`."""

    def __init__(self, symbols: Sequence[str], *, any_case: bool = False) -> None:
        self._symbols = [*SPECIAL_SYMBOLS, *symbols]
        self._ids = SymbolIds(symbols, any_case=any_case)

    @property
    def size(self) -> int:
        """The vocabulary and the special symbols."""
        return len(self._symbols)

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """The most frequent symbols, within the limits of the configuration."""
        symbols = most_frequent(cls._count_symbols(texts), config)
        return cls(symbols, any_case=config.any_case)

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """The saved vocabulary."""
        symbols = parse_symbols(config, saved)
        if not all(cls._split(symbol) == [symbol] for symbol in symbols):
            raise RunError(
                f"a symbol is not one {config.unit}", remedy="restore the file from a copy"
            )
        return cls(symbols, any_case=config.any_case)

    def state(self) -> FieldState:
        """The vocabulary in the order of its ids."""
        return FieldState({"symbols": self._symbols[_SPECIALS:]})

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """New symbols after the old ones, the commonest first."""
        new = new_symbols(self._count_symbols(texts), config, self._ids)
        return type(self)([*self._symbols[_SPECIALS:], *new], any_case=config.any_case)

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """The id of each symbol."""
        find = self._ids.find
        return [
            np.array([find(symbol) for symbol in self._split(text)], dtype=np.int32)
            for text in texts
        ]

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """The ids of all symbols in a row."""
        symbols = [self._split(text) for text in texts]
        lengths = np.fromiter(map(len, symbols), np.int64, len(symbols))
        ids = map(self._ids.find, chain.from_iterable(symbols))
        return FlatIds(np.fromiter(ids, np.int32, int(lengths.sum())), lengths)

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """The symbols without the spaces between them."""
        return [match.span() for match in _SYMBOL.finditer(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """The symbols, a space between them."""
        return " ".join([self._symbols[token] for token in ids])

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """The symbols without the spaces between them."""
        with_space = consecutive(len(self._symbols[token]) + 1 for token in ids)
        return [(start, end - 1) for start, end in with_space]

    def show(self, token: int) -> str:
        """The symbol, made visible."""
        return visible(self._symbols[token])

    @staticmethod
    def _split(text: str) -> Sequence[str]:
        return split_symbols(text)

    @classmethod
    def _count_symbols(cls, texts: Iterable[str]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(cls._split(text))
            if len(counts) > 2 * _LARGEST_COUNT:
                counts = prune_counts(counts)
        return prune_counts(counts)


class CharacterTokenizer(SymbolTokenizer):
    """One code point is one token; those outside the vocabulary are `<unk>`."""

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """The characters of all texts at once, by a table of all code points."""
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4")
        ids = self._code_points[codes]
        missing = np.unique(codes[ids < 0])
        if len(missing):
            self._code_points[missing] = [self._ids.find(chr(code)) for code in missing.tolist()]
            ids = self._code_points[codes]
        return FlatIds(ids, np.fromiter(map(len, texts), np.int64, len(texts)))

    @cached_property
    def _code_points(self) -> Ids:
        """The id of each code point, -1 where it was not yet looked up."""
        return np.full(sys.maxunicode + 1, -1, np.int32)

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """One after the other."""
        return consecutive([1] * len(text))

    def decode(self, ids: Sequence[int]) -> str:
        """The characters in a row."""
        return "".join([self._symbols[token] for token in ids])

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """One after the other."""
        return consecutive(len(self._symbols[token]) for token in ids)

    @staticmethod
    def _split(text: str) -> Sequence[str]:
        return list(text)


def split_symbols(text: str) -> list[str]:
    """What stands between spaces; a line end is a symbol, other white space is part of one."""
    return _SYMBOL.findall(text)


def most_frequent(
    counts: Counter[str], config: TextConfig, *, always: Sequence[str] = ()
) -> list[str]:
    """`always`, then the commonest symbols; ties by code point, whatever the texts' order."""
    room = config.size - _SPECIALS - len(always)
    if room < 1:
        least = _SPECIALS + len(always) + 1
        raise ConfigError(
            f"size = {config.size}: unit {config.unit} needs {least} symbols or more",
            remedy="raise size",
        )
    if not counts:
        raise DataError(
            f"unit {config.unit}: all texts are empty, so there is no vocabulary to make",
            remedy="give texts with content",
        )
    return [*always, *new_symbols(counts, config, set(always))[:room]]


def new_symbols(counts: Counter[str], config: TextConfig, known: Container[str]) -> list[str]:
    """Symbols that come often enough and are not known, the commonest first."""
    new = [s for s, count in counts.items() if count >= config.min_count and s not in known]
    return sorted(new, key=lambda symbol: (-counts[symbol], symbol))


def prune_counts(counts: Counter[Countable], *, limit: int = _LARGEST_COUNT) -> Counter[Countable]:
    """`counts`, without its rarest members when there are too many to hold."""
    floor = 1
    while len(counts) > limit:
        counts = Counter({symbol: count for symbol, count in counts.items() if count > floor})
        floor *= 2
    return counts


def parse_symbols(config: TextConfig, saved: FieldState) -> list[str]:
    """The symbols of a saved vocabulary, or RunError where no vocabulary has such symbols."""
    symbols = saved.facts.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
        raise RunError(
            "the symbols are not a list of strings", remedy="restore the file from a copy"
        )
    if len(symbols) + _SPECIALS > config.size:
        raise RunError(
            "there are more symbols than its size allows", remedy="restore the file from a copy"
        )
    if len(set(symbols)) != len(symbols):
        raise RunError("a symbol is there twice", remedy="restore the file from a copy")
    if any(len(symbol) > _LONGEST_SYMBOL for symbol in symbols):
        raise RunError("a symbol is too long", remedy="restore the file from a copy")
    if any("\ud800" <= char <= "\udfff" for symbol in symbols for char in symbol):
        raise RunError("a symbol is not Unicode text", remedy="restore the file from a copy")
    return symbols


def visible(symbol: str) -> str:
    """A symbol for tables and pictures: spaces as U+2423, what cannot be printed as its escape."""
    if symbol.isprintable() and " " not in symbol:  # no other space can be printed
        return symbol
    return "".join(_visible(char) for char in symbol)


def _visible(char: str) -> str:
    if unicodedata.category(char) == "Zs":
        return "\u2423"
    return char if char.isprintable() else char.encode("unicode_escape").decode()


CANDIDATES = 20  # texts of which one is the longest in tokens


class LearntTexts(NamedTuple):
    """What a source remembers of the texts that it was learnt from."""

    folds_capitals: bool = False  # there were none, so that those of inputs become small letters
    longest: int = 0  # tokens of the longest; 0 where that is not known

    def facts(self) -> dict[str, Any]:
        """What is saved: whatever is not as usual."""
        return {name: value for name, value in self._asdict().items() if value}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "LearntTexts":
        """What was saved."""
        longest = facts.get("longest")
        return cls(facts.get("folds_capitals") is True, longest if type(longest) is int else 0)


NOTHING_LEARNT = LearntTexts()


class TextObserver:
    """Looks at texts while something else reads them: their case, and which are longest."""

    def __init__(self) -> None:
        self._small = self._capital = False
        self._longest: list[tuple[int, str]] = []

    def watch(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts as they are."""
        for text in texts:
            if not self._capital:
                lower = text.lower()
                self._capital = lower != text
                self._small = self._small or lower != lower.upper()
            if len(self._longest) < CANDIDATES:
                heappush(self._longest, (len(text), text))
            elif len(text) > self._longest[0][0]:
                heappushpop(self._longest, (len(text), text))
            yield text

    @property
    def is_lowercase(self) -> bool:
        """Whether there were small letters and no capitals."""
        return self._small and not self._capital

    @property
    def longest(self) -> list[str]:
        """Those with the most characters, among which is the one with the most tokens as a
        rule."""
        return [text for _, text in self._longest]
