"""Pieces of a sentencepiece model that was trained elsewhere, under ids of their own (S1.3).

The model file says how text is normalized and cut; a list of symbols says which id each piece has,
as in checkpoints of Marian, whose two sides have a model each and perhaps one vocabulary.
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
_THREADS_FROM = 64  # texts that are worth threads
_LANGUAGE = ">>", "<<"  # around a token in front of a text that names a language


class ImportedPieceTokenizer:
    """Pieces as the model file cuts them; those without an id are `<unk>`."""

    def __init__(self, model: bytes, symbols: Sequence[str]) -> None:
        """RunError where sentencepiece cannot read the file."""
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
        """The vocabulary and the special symbols."""
        return len(self.symbols)

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """It comes with a model from elsewhere; ConfigError."""
        raise ConfigError(
            "unit sentencepiece comes with an imported model and is not learnt",
            remedy="set unit=subword, or fine-tune a run that seqloom import made",
        )

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """The tokenizer of a saved model file and vocabulary."""
        return cls(saved.model, parse_symbols(config, saved))

    def state(self) -> FieldState:
        """The vocabulary in the order of its ids, and the model file."""
        return FieldState({"symbols": self.symbols[len(SPECIAL_SYMBOLS) :]}, self.model)

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """The model file says which pieces there are, so none are added."""
        return self

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text; a language token in front of it stays whole."""
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
        """The same one after the other."""
        return concatenate(self.encode_many(texts))

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """Where the model file found each piece, through its own normalization."""
        language, rest = _split_language(text)
        before = len(text) - len(rest)
        found = self._processor.encode(rest, return_type="proto").pieces
        return [(0, before)] * len(language) + shift(
            [(piece.begin, piece.end) for piece in found], before
        )

    def decode(self, ids: Sequence[int]) -> str:
        """The text as the model file puts pieces together."""
        pieces = [_SPACE + self.symbols[t] if t == UNK else self.symbols[t] for t in ids]
        return str(self._processor.decode_pieces(pieces)).replace(_SPACE, " ").strip()

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """What each piece adds to the text of those before it."""
        return prefix_offsets(ids, self.decode)

    def show(self, token: int) -> str:
        """The piece as sentencepiece writes it, a space as U+2581."""
        return self.symbols[token]


def _split_language(text: str) -> tuple[list[str], str]:
    """A token such as `>>fra<<` that a text begins with, if any, and the rest."""
    begin, end = _LANGUAGE
    found = text.find(end) if text.startswith(begin) else -1
    if found < 0:
        return [], text
    return [text[: found + len(end)]], text[found + len(end) :]
