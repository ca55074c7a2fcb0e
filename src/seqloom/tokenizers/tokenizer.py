"""The protocol of tokenizers, and the simplest ones: bytes, symbols and characters (S1.3)."""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
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
_LARGEST_COUNT = 4_000_000  # distinct symbols kept while counting
_LONGEST_SYMBOL = 4_096
_SYMBOL = re.compile(r"\n|[^ \n]+")


class Tokenizer(Protocol):
    """Maps normalized text to ids and back; ids below four are special and never come from text."""

    @property
    def size(self) -> int:
        """Number of ids, including special symbols."""

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Learn a vocabulary in one pass over the texts, in bounded memory."""

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """Restore a saved tokenizer; RunError if the state is invalid."""

    def state(self) -> FieldState:
        """The state for `restore`."""

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """Extend the vocabulary by new symbols of the texts; existing ids stay."""

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """Encode texts."""

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """Encode texts to one flat array, faster for thousands of texts."""

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """The offsets of each id of a text; a caller that has the ids passes them."""

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids, of which only `<unk>` may be special."""

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """The offsets of each id in the decoded text."""

    def show(self, token: int) -> str:
        """The display text of a token that is not special."""


@dataclass(frozen=True)
class ByteTokenizer:
    """One token per byte of UTF-8."""

    size: int = len(BYTE_CONTENTS)

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Return the tokenizer without reading the texts: there is nothing to learn."""
        return cls()

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """Return the tokenizer: its state is empty."""
        return cls()

    def state(self) -> FieldState:
        """An empty state."""
        return FieldState({})

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """Return this tokenizer: it has every byte."""
        return self

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """Encode texts as their bytes, offset by the special ids."""
        return [
            np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int32) + np.int32(_SPECIALS)
            for text in texts
        ]

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """Encode all texts at once."""
        parts = [text.encode() for text in texts]
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        return FlatIds(np.frombuffer(b"".join(parts), np.uint8) + np.int32(_SPECIALS), lengths)

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """The offsets of each byte's character."""
        return [
            (place, place + 1) for place, char in enumerate(text) for _ in range(len(char.encode()))
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids; bytes that are not UTF-8 become U+FFFD."""
        content = b"".join([BYTE_CONTENTS[token] for token in ids])
        return content.decode(errors="replace")

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """The offsets of each byte in the decoded text; a character belongs to its first byte."""
        return prefix_offsets(ids, self.decode)

    def show(self, token: int) -> str:
        """The letter of a printable ASCII byte, else its number."""
        byte = token - _SPECIALS
        return chr(byte) if 0x20 < byte < 0x7F else f"<0x{byte:02X}>"


class SymbolIds(dict[str, int]):
    """Looks up ids of symbols, with `<unk>` for others; optionally ignoring case, by the first
    symbol that matches.
    """

    def __init__(self, symbols: Sequence[str], *, any_case: bool = False) -> None:
        super().__init__({symbol: id_ for id_, symbol in enumerate(symbols, start=_SPECIALS)})
        reverse = reversed(self.items()) if any_case else ()
        self._folded = {symbol.casefold(): id_ for symbol, id_ in reverse}

    def __missing__(self, symbol: str) -> int:
        return self._folded.get(symbol.casefold(), UNK)

    @property
    def find(self) -> Callable[[str], int]:
        """A function that returns the id of a symbol, known or not."""
        return self.__getitem__


class SymbolTokenizer:
    """One token per symbol between spaces; `<unk>` outside the vocabulary."""

    def __init__(self, symbols: Sequence[str], *, any_case: bool = False) -> None:
        self._symbols = [*SPECIAL_SYMBOLS, *symbols]
        self._ids = SymbolIds(symbols, any_case=any_case)

    @property
    def size(self) -> int:
        """Size of the vocabulary, including special symbols."""
        return len(self._symbols)

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Learn the most frequent symbols, within the limits of the configuration."""
        symbols = most_frequent(cls._count_symbols(texts), config)
        return cls(symbols, any_case=config.any_case)

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """Restore a saved vocabulary."""
        symbols = parse_symbols(config, saved)
        if not all(cls._split(symbol) == [symbol] for symbol in symbols):
            raise RunError(
                f"a symbol is not one {config.unit}", remedy="restore the file from a copy"
            )
        return cls(symbols, any_case=config.any_case)

    def state(self) -> FieldState:
        """The vocabulary in order of ids."""
        return FieldState({"symbols": self._symbols[_SPECIALS:]})

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """Extend the vocabulary by new symbols, the most frequent first."""
        new = new_symbols(self._count_symbols(texts), config, self._ids)
        return type(self)([*self._symbols[_SPECIALS:], *new], any_case=config.any_case)

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """Encode texts as ids of their symbols."""
        find = self._ids.find
        return [np.array(list(map(find, self._split(text))), dtype=np.int32) for text in texts]

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """Encode texts to one flat array."""
        symbols = [self._split(text) for text in texts]
        lengths = np.fromiter(map(len, symbols), np.int64, len(symbols))
        ids = map(self._ids.find, chain.from_iterable(symbols))
        return FlatIds(np.fromiter(ids, np.int32, int(lengths.sum())), lengths)

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """The offsets of the symbols, without the spaces between them."""
        return [match.span() for match in _SYMBOL.finditer(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """Join symbols by spaces."""
        return " ".join([self._symbols[token] for token in ids])

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """The offsets of the symbols, without the spaces between them."""
        with_space = consecutive(len(self._symbols[token]) + 1 for token in ids)
        return [(start, end - 1) for start, end in with_space]

    def show(self, token: int) -> str:
        """The symbol in printable form."""
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
    """One token per code point; `<unk>` outside the vocabulary."""

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """Encode all texts at once, by a table of code points."""
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4")
        ids = self._code_points[codes]
        missing = np.unique(codes[ids < 0])
        if len(missing):
            self._code_points[missing] = [self._ids.find(chr(code)) for code in missing.tolist()]
            ids = self._code_points[codes]
        return FlatIds(ids, np.fromiter(map(len, texts), np.int64, len(texts)))

    @cached_property
    def _code_points(self) -> Ids:
        """The id of each code point; -1 if it was not looked up yet."""
        return np.full(sys.maxunicode + 1, -1, np.int32)

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """Consecutive offsets, one per character."""
        return consecutive([1] * len(text))

    def decode(self, ids: Sequence[int]) -> str:
        """Join characters."""
        return "".join([self._symbols[token] for token in ids])

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """Consecutive offsets, one per character."""
        return consecutive(len(self._symbols[token]) for token in ids)

    @staticmethod
    def _split(text: str) -> Sequence[str]:
        return list(text)


def split_symbols(text: str) -> list[str]:
    """Split a text at spaces; a line end is a symbol, other white space is part of one."""
    return _SYMBOL.findall(text)


def most_frequent(
    counts: Counter[str], config: TextConfig, *, always: Sequence[str] = ()
) -> list[str]:
    """`always`, then the most frequent symbols; ties by code point, independent of the texts'
    order.
    """
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
    """Unknown symbols that are frequent enough, the most frequent first."""
    new = [s for s, count in counts.items() if count >= config.min_count and s not in known]
    return sorted(new, key=lambda symbol: (-counts[symbol], symbol))


def prune_counts(counts: Counter[Countable], *, limit: int = _LARGEST_COUNT) -> Counter[Countable]:
    """Drop the rarest counts if there are more than `limit`."""
    floor = 1
    while len(counts) > limit:
        counts = Counter({symbol: count for symbol, count in counts.items() if count > floor})
        floor *= 2
    return counts


def parse_symbols(config: TextConfig, saved: FieldState) -> list[str]:
    """Parse the symbols of a saved vocabulary; RunError if they are invalid."""
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
    """A symbol in printable form: spaces as U+2423, other unprintable characters escaped."""
    if symbol.isprintable() and " " not in symbol:  # no other space is printable
        return symbol
    return "".join(_visible(char) for char in symbol)


def _visible(char: str) -> str:
    if unicodedata.category(char) == "Zs":
        return "\u2423"
    return char if char.isprintable() else char.encode("unicode_escape").decode()


CANDIDATES = 20  # the longest texts, of which one has the most tokens


class LearntTexts(NamedTuple):
    """Facts about the training texts of a source."""

    folds_capitals: bool = False  # training had no capitals, so inputs are lowercased
    longest: int = 0  # tokens of the longest text; 0 if unknown

    def facts(self) -> dict[str, Any]:
        """The facts to save: those that differ from the defaults."""
        return {name: value for name, value in self._asdict().items() if value}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "LearntTexts":
        """Restore saved facts."""
        longest = facts.get("longest")
        return cls(facts.get("folds_capitals") is True, longest if type(longest) is int else 0)


NOTHING_LEARNT = LearntTexts()


class TextObserver:
    """Observes the case and the longest of texts while another consumer iterates over them."""

    def __init__(self) -> None:
        self._small = self._capital = False
        self._longest: list[tuple[int, str]] = []

    def watch(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the texts unchanged."""
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
        """Whether there were lower-case letters and no capitals."""
        return self._small and not self._capital

    @property
    def longest(self) -> list[str]:
        """The texts with the most characters, among which is usually the one with the most
        tokens.
        """
        return [text for _, text in self._longest]
