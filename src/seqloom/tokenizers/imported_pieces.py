"""Tokenizer of an imported sentencepiece model, with a vocabulary of its own (S1.3).

The model file defines normalization and segmentation; a list of symbols defines the ids, as in
checkpoints of Marian, whose two sides have a model each and may share a vocabulary.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from seqloom.config.columns import TextConfig
from seqloom.errors import ConfigError, RunError
from seqloom.tokenizers.chunks import FlatIds, concatenate
from seqloom.tokenizers.offsets import Offsets, prefix_offsets, shift
from seqloom.tokenizers.piece_file import check_piece_file
from seqloom.tokenizers.specials import SPECIAL_SYMBOLS, UNK, FieldState
from seqloom.tokenizers.subwords import sentencepiece
from seqloom.tokenizers.tokenizer import Ids, parse_symbols

__all__ = ["ImportedPieceTokenizer"]

_SPACE = "\u2581"
_THREADS_FROM = 64  # texts from which on threads pay
_LANGUAGE = ">>", "<<"  # marks of a language token at the start of a text


class ImportedPieceTokenizer:
    """Tokenizes by an imported model file; pieces without an id are `<unk>`."""

    def __init__(self, model: bytes, symbols: Sequence[str]) -> None:
        """Raise RunError if sentencepiece cannot read the file."""
        check_piece_file(model)
        self.model = model
        self.symbols = [*SPECIAL_SYMBOLS, *symbols]
        first = len(SPECIAL_SYMBOLS)
        self._ids = {symbol: token for token, symbol in enumerate(symbols, start=first)}
        try:
            self._processor: Any = sentencepiece().SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise RunError(
                "sentencepiece cannot read it", remedy="restore the file from a copy"
            ) from None

    @property
    def size(self) -> int:
        """Size of the vocabulary, including special symbols."""
        return len(self.symbols)

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Raise ConfigError: the tokenizer is imported with its model."""
        raise ConfigError(
            "unit sentencepiece comes with an imported model and is not learnt",
            remedy="set unit=subword, or fine-tune a run that seqloom import made",
        )

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """Restore the tokenizer from a saved model file and vocabulary."""
        return cls(saved.model, parse_symbols(config, saved))

    def state(self) -> FieldState:
        """The vocabulary in order of ids, and the model file."""
        return FieldState({"symbols": self.symbols[len(SPECIAL_SYMBOLS) :]}, self.model)

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """Return this tokenizer: the model file fixes the pieces."""
        return self

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """Encode texts; a language token at the start stays whole."""
        split = [_split_language(text) for text in texts]
        rests = [rest for _, rest in split]
        if len(rests) < _THREADS_FROM:
            cut = [self._processor.encode(text, out_type=str) for text in rests]
        else:
            cut = self._processor.encode(rests, out_type=str, num_threads=-1)
        find = self._ids.get
        return [
            np.array([find(piece, UNK) for piece in (*language, *pieces)], dtype=np.int32)
            for (language, _), pieces in zip(split, cut, strict=True)
        ]

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """Encode texts to one flat array."""
        return concatenate(self.encode_many(texts))

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """The offsets of each piece, traced through the model's normalization."""
        language, rest = _split_language(text)
        before = len(text) - len(rest)
        found = self._processor.encode(rest, return_type="proto").pieces
        return [(0, before)] * len(language) + shift(
            [(piece.begin, piece.end) for piece in found], before
        )

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids by the model file's rules."""
        pieces = [_SPACE + self.symbols[t] if t == UNK else self.symbols[t] for t in ids]
        return str(self._processor.decode_pieces(pieces)).replace(_SPACE, " ").strip()

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """The offsets of each piece in the decoded text."""
        return prefix_offsets(ids, self.decode)

    def show(self, token: int) -> str:
        """The piece as sentencepiece prints it, with U+2581 for a space."""
        return self.symbols[token]


def _split_language(text: str) -> tuple[list[str], str]:
    """Split a text into its leading language token, such as `>>fra<<`, if any, and the rest."""
    begin, end = _LANGUAGE
    found = text.find(end) if text.startswith(begin) else -1
    if found < 0:
        return [], text
    return [text[: found + len(end)]], text[found + len(end) :]
