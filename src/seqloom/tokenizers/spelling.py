"""Symbols as the letters they are written with, so that unknown ones can still be read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.config.columns import TextConfig
from seqloom.tokenizers.specials import EMPTY, END, START, FieldState
from seqloom.tokenizers.tokenizer import CharacterTokenizer, split_symbols

__all__ = ["Spelling"]

MOST_LETTERS = 8_000  # in the alphabet
MOST_KNOWN = 50_000  # symbols that are remembered


class Spelling:
    """`<start>`, the letters of a symbol, `<end>`, padded to a number of ids that is always the
    same; of a symbol that is too long, the first letters and the last."""

    def __init__(self, letters: CharacterTokenizer, size: int) -> None:
        """Use `learn` or `restore`."""
        self.size = size
        self._letters = letters
        self._known: dict[str, bytes] = {}  # rows of symbols that were spelt before

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """The letters of all symbols."""
        letters = CharacterTokenizer.learn(_letter_config(config), texts, seed=seed)
        return cls(letters, config.spelling)

    @classmethod
    def restore(cls, config: TextConfig, facts: Mapping[str, Any]) -> Self:
        """The saved letters; RunError where they cannot have been saved."""
        saved = FieldState({"symbols": facts.get("letters")})
        return cls(CharacterTokenizer.restore(_letter_config(config), saved), config.spelling)

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """The same ids for the letters it knows, and further ones for others in the texts."""
        return type(self)(self._letters.extend(_letter_config(config), texts), self.size)

    @property
    def count(self) -> int:
        """Letters, and the special symbols."""
        return self._letters.size

    def alphabet(self) -> list[str]:
        """The letters in the order of their ids."""
        return list(self._letters.state().facts["symbols"])

    def rows(self, text: str) -> NDArray[np.int32]:
        """A row for each symbol of a text, and an empty one for what closes it."""
        rows = [self._known.get(symbol) or self._row(symbol) for symbol in split_symbols(text)]
        empty = np.full(self.size, EMPTY, dtype=np.int32).tobytes()
        table = np.frombuffer(b"".join([*rows, empty]), dtype=np.int32)
        return table.reshape(-1, self.size)

    def _row(self, symbol: str) -> bytes:
        """The padded ids of a symbol, which is remembered."""
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
    """How letters are learnt: all of them, down to the rarest."""
    return config.model_copy(
        update={"unit": "character", "size": MOST_LETTERS, "min_count": 1, "spelling": 0}
    )
