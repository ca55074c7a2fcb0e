"""Subword tokenizer by sentencepiece, lossless for every text (S1.3, RELIABILITY B2, B3).

sentencepiece writes a space as U+2581 and has names such as `<unk>` and `<0x0A>` of its own. Text
that contains any of these is escaped first, so that it is never mistaken for them. Each text gets a
leading space, so that a word is the same piece at the start and in the middle; characters without a
piece fall back to their bytes.
"""

import io
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any, Self

import numpy as np

from seqloom.config.columns import TextConfig
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.randomness import key
from seqloom.tokenizers.chunks import FlatIds
from seqloom.tokenizers.interruptible import run_interruptibly
from seqloom.tokenizers.offsets import Offsets, TextAlignment, consecutive, prefix_offsets, shift
from seqloom.tokenizers.piece_file import FIRST_PIECE, read_pieces
from seqloom.tokenizers.specials import EMPTY, END, SPECIAL_SYMBOLS, START, UNK, FieldState
from seqloom.tokenizers.tokenizer import BYTE_CONTENTS, Ids

__all__ = ["SubwordTokenizer", "sentencepiece"]

_SPACE = "\u2581"
_ESCAPE = "\ue000"
_ESCAPES = {_ESCAPE: f"{_ESCAPE}0", _SPACE: f"{_ESCAPE}1", "<": f"{_ESCAPE}2"}
_UNESCAPES = {written: plain for plain, written in _ESCAPES.items()}
_NEEDS_ESCAPE = re.compile(f"[{_ESCAPE}{_SPACE}]|<(?=(?:0x[0-9A-F]{{2}}|empty|unk|start|end)>)")
_ESCAPE_SEQUENCE = re.compile(f"{_ESCAPE}[012]")
_RESERVED = "\t\0\u2585"  # sentencepiece treats these specially in training

_LEAST_SIZE = 300
_SAMPLE = 20_000_000  # characters of the training sample of a vocabulary
_WORD = re.compile(" ?[^ ]{1,64}| ")
_COPY_LIMIT = 4_000  # characters of the copies of one word in the training input
_THREADS_FROM = (
    64  # texts from which on threads pay, which sentencepiece starts for lists of any length
)
_COVERAGE = 0.9999  # share of the sample's characters that get a piece of their own


class SubwordTokenizer:
    """Subwords of a unigram or byte-pair model, with byte fallback."""

    def __init__(self, model: bytes) -> None:
        """`model` is sentencepiece's file; RunError if `learn` could not have produced it."""
        self._model = model
        self._pieces = read_pieces(model)
        self._shown: dict[int, str] = {}  # cached display texts of pieces
        self._contents = [
            *BYTE_CONTENTS,
            *(piece.encode() for piece in self._pieces[FIRST_PIECE:]),
        ]
        self._lengths = np.array([len(piece) for piece in self._pieces])
        self._is_plain = np.array([_ESCAPE not in piece for piece in self._pieces])
        self._is_plain[:FIRST_PIECE] = False
        try:
            self._processor = sentencepiece().SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise RunError(
                "sentencepiece cannot read it", remedy="restore the file from a copy"
            ) from None

    @property
    def size(self) -> int:
        """Size of the vocabulary: pieces, bytes and special symbols."""
        return len(self._pieces)

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Train sentencepiece on a bounded sample; less text gives a smaller vocabulary."""
        if config.size < _LEAST_SIZE:
            raise ConfigError(
                f"size = {config.size}: subwords need {_LEAST_SIZE} symbols or more, 256 of them "
                "for bytes",
                remedy='raise size or choose unit = "character"',
            )
        sample = [f" {_escape(text)}" for text in _sample(texts, seed=seed) if text]
        words = _words(sample, characters=(config.size - FIRST_PIECE) * 3 // 4)
        if not words:
            raise DataError(
                "unit subword: all texts are empty, so there is nothing to learn",
                remedy="give texts with content",
            )
        return cls(_train(config, _lines(words, seed=seed)))

    @classmethod
    def restore(cls, config: TextConfig, saved: FieldState) -> Self:
        """Restore the tokenizer from a saved model file."""
        tokenizer = cls(saved.model)
        if tokenizer.size > config.size:
            raise RunError(
                "it has more pieces than its size allows", remedy="restore it from a copy"
            )
        return tokenizer

    def state(self) -> FieldState:
        """The model file of sentencepiece."""
        return FieldState({}, self._model)

    def extend(self, config: TextConfig, texts: Iterable[str]) -> Self:
        """Return this tokenizer: byte fallback covers every text."""
        return self

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """Encode texts, in several threads if that pays."""
        return [np.array(row, dtype=np.int32) for row in self._cut(texts)]

    def _cut(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        ready = [f" {_escape(text)}" if text else "" for text in texts]
        if len(ready) < _THREADS_FROM:
            return [self._processor.encode(text, out_type=int) for text in ready]
        rows: list[list[int]] = self._processor.encode(ready, out_type=int, num_threads=-1)
        return rows

    def encode_flat(self, texts: Sequence[str]) -> FlatIds:
        """Encode texts to one flat array."""
        rows = self._cut(texts)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return FlatIds(np.fromiter(chain.from_iterable(rows), np.int32), lengths)

    def offsets(self, text: str, ids: Ids | None = None) -> list[Offsets]:
        """The offsets of the pieces, each with its leading space; a byte has those of its
        character.
        """
        if ids is None:
            (ids,) = self.encode_many([text])
        if (ids < FIRST_PIECE).any():
            found = self._byte_offsets(ids.tolist(), f" {_escape(text)}")
        else:
            found = consecutive(self._lengths[ids].tolist())
        found = shift(found, -1)  # without the leading space, which is not in the text
        if _NEEDS_ESCAPE.search(text):
            parts = _NEEDS_ESCAPE.split(text)
            lengths = [(len(part), len(part)) for part in parts]
            pieces = [(1, 2)] * (2 * len(parts) - 1)
            pieces[::2] = lengths
            alignment = TextAlignment.of_pieces(pieces)
            found = [alignment.original(each) for each in found]
        return found

    def _byte_offsets(self, ids: list[int], text: str) -> list[Offsets]:
        """Offsets for ids that include single bytes."""
        owners = [place for place, char in enumerate(text) for _ in range(len(char.encode()))]
        sizes = [len(self._contents[token].replace(_SPACE.encode(), b" ")) for token in ids]
        return [(owners[start], owners[end - 1] + 1) for start, end in consecutive(sizes)]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids; bytes that are not UTF-8 become U+FFFD."""
        content = b"".join([self._contents[token] for token in ids]).decode(errors="replace")
        return _unescape(content.replace(_SPACE, " ").removeprefix(" "))

    def decoded_offsets(self, ids: Sequence[int]) -> list[Offsets]:
        """The offsets of the pieces, each with its leading space; a character in bytes belongs to
        its first byte.
        """
        tokens = np.array(ids, np.int64)
        if not self._is_plain[tokens].all():
            return prefix_offsets(ids, self.decode)
        found = consecutive(self._lengths[tokens].tolist())
        opens = bool(ids) and self._pieces[ids[0]].startswith(_SPACE)
        return shift(found, -1) if opens else found

    def show(self, token: int) -> str:
        """The piece as sentencepiece prints it, with U+2581 for a space."""
        shown = self._shown.get(token)
        if shown is None:
            shown = self._shown[token] = _unescape(self._pieces[token])
        return shown


def sentencepiece() -> Any:
    """Import the library lazily."""
    return import_module("sentencepiece")


def _escape(text: str) -> str:
    return _NEEDS_ESCAPE.sub(lambda match: _ESCAPES[match.group()], text)


def _unescape(text: str) -> str:
    return _ESCAPE_SEQUENCE.sub(lambda match: _UNESCAPES[match.group()], text)


def _sample(texts: Iterable[str], *, seed: int) -> list[str]:
    """All texts, or a random half, quarter, ... of them that fits the bound."""
    draw = random.Random(key(seed, "subword sample")).random
    kept: list[tuple[float, str]] = []
    share, characters = 1.0, 0
    for text in texts:
        for start in range(0, len(text), _SAMPLE // 16):
            part = (draw(), text[start : start + _SAMPLE // 16])
            if part[0] < share:
                kept.append(part)
                characters += len(part[1])
        while characters > _SAMPLE:
            share /= 2
            kept = [part for part in kept if part[0] < share]
            characters = sum(len(part) for _, part in kept)
    return [part for _, part in kept]


def _words(sample: Sequence[str], *, characters: int) -> Counter[str]:
    """Count the words of the sample, split at every character that is not among the most common
    ones.
    """
    counts: Counter[str] = Counter()
    for text in sample:
        counts.update(text)
    rest = counts.total() * (1 - _COVERAGE)
    common = sorted(counts, key=lambda char: (-counts[char], char))
    while common and rest >= counts[common[-1]]:
        rest -= counts[common.pop()]
    rare = counts.keys() - set(common[:characters]) | set(_RESERVED)
    breaks = dict.fromkeys(map(ord, rare), "\0")
    words: Counter[str] = Counter()
    for text in sample:
        for part in text.translate(breaks).split("\0"):
            words.update(_WORD.findall(part))
    return words


def _lines(words: Counter[str], *, seed: int) -> list[str]:
    """Lines of repeated words by their counts, in random order, for a bounded number of copies.

    Pieces never cross a space, so words are enough. Whole lines would not do: training is far more
    than linear in long parts that recur (40 s for 68 kB of two words in turn). A word occurs at
    least twice if possible, since only what occurs twice becomes a candidate.
    """
    lines = []
    for word in sorted(words):
        copies = min(words[word], max(2, _COPY_LIMIT // len(word)))
        share, over = divmod(words[word], copies)
        lines += [f"{word}\t{share + (copy < over)}" for copy in range(copies)]
    random.Random(key(seed, "subword order")).shuffle(lines)
    return lines


def _train(config: TextConfig, lines: Iterable[str]) -> bytes:
    """Train a sentencepiece model file: one thread, no log, without normalization."""
    model = io.BytesIO()
    names = dict(zip(("pad", "unk", "bos", "eos"), SPECIAL_SYMBOLS, strict=True))
    train = partial(
        sentencepiece().SentencePieceTrainer.train,
        sentence_iterator=iter(lines),
        input_format="tsv",
        model_writer=model,
        model_type=config.algorithm,
        vocab_size=config.size,
        hard_vocab_limit=False,
        byte_fallback=True,
        character_coverage=1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        pad_id=EMPTY,
        unk_id=UNK,
        bos_id=START,
        eos_id=END,
        **{f"{name}_piece": symbol for name, symbol in names.items()},
        num_threads=1,
        minloglevel=2,
    )
    run_interruptibly(train)
    return model.getvalue()
