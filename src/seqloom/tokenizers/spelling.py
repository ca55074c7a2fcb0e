"""Spellings of symbols, so that a model can read unknown symbols by their letters."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.config.columns import TextConfig
from seqloom.tokenizers.specials import EMPTY, END, START, FieldState
from seqloom.tokenizers.tokenizer import CharacterTokenizer, split_symbols

__all__ = ["Spelling"]

MOST_LETTERS = 8_000  # in the alphabet
MOST_KNOWN = 50_000  # cached symbols


class Spelling:
    """Spells a symbol as `<start>`, its letters and `<end>`, padded to a fixed number of ids; a
    symbol that is too long keeps its first and last letters.
    """

    def __init__(self, letters: CharacterTokenizer, size: int) -> None:
        """Use `learn` or `restore`."""
        self.size = size
        self._letters = letters
        self._known: dict[str, bytes] = {}  # cached rows

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Learn the letters of all symbols."""
        letters = CharacterTokenizer.learn(_letter_config(config), texts, seed=seed)
        return cls(letters, config.spelling)

    @classmethod
    def restore(cls, config: TextConfig, facts: Mapping[str, Any]) -> Self:
        """Restore the saved letters; RunError if they are invalid."""
        saved = FieldState({"symbols": facts.get("letters")})
        return cls(CharacterTokenizer.restore(_letter_config(config), saved), config.spelling)

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """Extend the alphabet by new letters of the texts; existing ids stay."""
        return type(self)(self._letters.extend(_letter_config(config), texts), self.size)

    @property
    def count(self) -> int:
        """Number of letters, including special symbols."""
        return self._letters.size

    def alphabet(self) -> list[str]:
        """The letters in order of ids."""
        return list(self._letters.state().facts["symbols"])

    def rows(self, text: str) -> NDArray[np.int32]:
        """A row for each symbol of a text, and an empty row for `<end>`."""
        rows = [self._known.get(symbol) or self._row(symbol) for symbol in split_symbols(text)]
        empty = np.full(self.size, EMPTY, dtype=np.int32).tobytes()
        table = np.frombuffer(b"".join([*rows, empty]), dtype=np.int32)
        return table.reshape(-1, self.size)

    def _row(self, symbol: str) -> bytes:
        """The padded ids of a symbol, cached."""
        row = np.full(self.size, EMPTY, dtype=np.int32)
        ids = self._ids(symbol)
        row[: len(ids)] = ids
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        return self._known.setdefault(symbol, row.tobytes())

    def _ids(self, symbol: str) -> Sequence[int]:
        head = (self.size - 2) // 2
        tail = self.size - 2 - head
        if len(symbol) > head + tail:
            symbol = symbol[:head] + symbol[len(symbol) - tail :]
        (letters,) = self._letters.encode_many([symbol])
        return [START, *letters.tolist(), END]


def _letter_config(config: TextConfig) -> TextConfig:
    """The configuration by which letters are learnt: without a minimum count."""
    return config.model_copy(
        update={"unit": "character", "size": MOST_LETTERS, "min_count": 1, "spelling": 0}
    )
