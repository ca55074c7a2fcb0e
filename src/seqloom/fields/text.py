"""A column of text as token ids and back (S1.3)."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from seqloom.config.columns import COLUMNS, TextConfig
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.fields.field_files import FACTS, MODEL, PersistentField, load_field, read_file
from seqloom.fields.items import FlatRows, Symbols, Values
from seqloom.fields.protocol import Field
from seqloom.fields.sentences import TextPiece, pack_sentences
from seqloom.fields.vocabulary_file import check_unit, read_vocabulary, symbol_rows
from seqloom.tokenizers import (
    ByteTokenizer,
    CharacterTokenizer,
    Ids,
    SymbolTokenizer,
    Tokenizer,
    split_symbols,
)
from seqloom.tokenizers.imported_pieces import ImportedPieceTokenizer
from seqloom.tokenizers.normalization import normalize, normalize_many
from seqloom.tokenizers.offsets import Offsets, TextAlignment
from seqloom.tokenizers.piece_file import FIRST_PIECE
from seqloom.tokenizers.specials import END, SPECIAL_SYMBOLS, UNK, FieldState
from seqloom.tokenizers.spelling import Spelling
from seqloom.tokenizers.subwords import SubwordTokenizer
from seqloom.tokenizers.tokenizer import NOTHING_LEARNT, LearntTexts, TextObserver
from seqloom.tokenizers.words import WordTokenizer

__all__ = ["TextField", "as_text_field", "load_text"]

WORD_START = "\u2581"  # as sentencepiece shows a space
FOLDING = "capitals read as small letters (the training data has none)"
SHORTEST = 3  # a letter, and a mark at either end
_TOKENIZERS: dict[str, type[Tokenizer]] = {
    "byte": ByteTokenizer,
    "character": CharacterTokenizer,
    "word": WordTokenizer,
    "symbol": SymbolTokenizer,
    "subword": SubwordTokenizer,
    "sentencepiece": ImportedPieceTokenizer,
}
_PIECES = ("subword", "sentencepiece")  # units with a model file, which write a space as U+2581


@COLUMNS.part("text")
class TextField(PersistentField[TextConfig]):
    """Text cut into the units of its configuration; it never changes once it is learnt."""

    is_text: ClassVar[bool] = True
    has_turns: ClassVar[bool] = False  # whether a cell is a list of turns
    length_unit: ClassVar[str] = "tokens"
    can_split: ClassVar[bool] = True

    def __init__(
        self,
        config: TextConfig,
        tokenizer: Tokenizer,
        spelling: Spelling | None = None,
        listed: Sequence[str] = (),
        learnt: LearntTexts = NOTHING_LEARNT,
    ) -> None:
        """Use `learn` or `restore`; `listed` is the vocabulary of a file."""
        self.config = config
        self._tokenizer = tokenizer
        self._spelling = spelling
        self._listed = tuple(listed)
        self.learnt = learnt
        self.takes_any_cell = config.unknown == "unk"
        self.closing = int(self.has_end)
        self._shown: dict[int, str] = {}  # readable forms that were asked for before

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Make the vocabulary of a source from a stream of texts; the same texts and seed give the
        same. Where they have no capitals, those of later inputs are read as small letters."""
        observer = TextObserver()
        watched = observer.watch(texts)
        field = cls._learn(config, watched, seed=seed)
        deque(watched, maxlen=0)  # what the unit had no need of
        exact = bool(config.vocabulary) or config.unknown == "error"
        folds = observer.is_lowercase and not exact
        longest = max(map(len, field.encode_many(observer.longest)), default=0)
        return field._with_learnt(LearntTexts(folds, longest))

    @classmethod
    def learn_target(
        cls, config: TextConfig, texts: Iterable[str], *, source: Field, seed: int
    ) -> Self:
        """Make the vocabulary of a target, in which capitals are always told apart."""
        return cls._learn(config, texts, seed=seed)

    @classmethod
    def _learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        if config.vocabulary:
            return cls._from_file(config)
        clean = (_normalize(config, text) for text in texts)
        if config.spelling and (config.unit != "symbol" or config.spelling < SHORTEST):
            raise ConfigError(
                f"spelling = {config.spelling} with unit {config.unit}: only symbols are spelt, "
                f"with room for {SHORTEST} letters or more",
                remedy="set unit=symbol, or spelling=0",
            )
        if not config.spelling:
            return cls(config, _TOKENIZERS[config.unit].learn(config, clean, seed=seed))
        kept = list(clean)
        tokenizer = _TOKENIZERS[config.unit].learn(config, kept, seed=seed)
        return cls(config, tokenizer, Spelling.learn(config, kept, seed=seed))

    @classmethod
    def _from_file(cls, config: TextConfig) -> Self:
        """The vocabulary of a file, in its order."""
        check_unit(config.unit)
        listed = read_vocabulary(config.vocabulary)
        words = [symbol for symbol in listed if symbol not in SPECIAL_SYMBOLS]
        saved = FieldState({"symbols": words, "listed": listed})
        size = max(config.size, len(words) + len(SPECIAL_SYMBOLS))
        roomy = config.model_copy(update={"size": size})
        tokenizer = _TOKENIZERS[config.unit].restore(roomy, saved)
        return cls(roomy, tokenizer, listed=listed)

    def extend(self, texts: Iterable[str]) -> Self:
        """This field with further ids for what it does not know in the texts; the old ones stay."""
        clean = [self._clean(text) for text in texts]
        tokenizer = self._tokenizer.extend(self.config, clean)
        spelling = self._spelling and self._spelling.extend(self.config, clean)
        size = max(self.config.size, tokenizer.size)
        config = self.config.model_copy(update={"size": size})
        return type(self)(config, tokenizer, spelling, (), self.learnt)

    def _with_learnt(self, learnt: LearntTexts) -> Self:
        """The same field, which remembers this of the texts."""
        return type(self)(self.config, self._tokenizer, self._spelling, self._listed, learnt)

    @property
    def size(self) -> int:
        """Number of ids, the four special ones included."""
        return self._tokenizer.size

    @classmethod
    def placeholder_items(cls, config: TextConfig) -> Symbols:
        """Items of the kind that such a column has, before there is any data."""
        return Symbols(8, config.spelling, 8)

    @property
    def items(self) -> Symbols:
        """Tokens of the vocabulary, perhaps with their letters."""
        if self._spelling is None:
            return Symbols(self.size, rows=self._rows())
        return Symbols(self.size, self._spelling.size, self._spelling.count)

    @property
    def has_end(self) -> bool:
        """Whether texts end in `<end>`; not where a vocabulary lists all symbols and not that."""
        table = self._rows()
        return not table or table[END] >= 0

    def _rows(self) -> tuple[int, ...]:
        """The rows of a model's tables, where they are not the ids themselves."""
        one, listed = self.config.one_boundary, self.config.specials == "listed"
        if not one and not (listed and self._listed):
            return ()
        words = self._tokenizer.state().facts.get("symbols") or range(self.size - END - 1)
        names = [str(word) for word in words]
        order = self._listed if listed and self._listed else (*SPECIAL_SYMBOLS, *names)
        return symbol_rows(order, names, one=one)

    def normalize(self, text: str) -> str:
        """The stated normalisation: `decode(encode(text))` equals it where nothing is unknown.

        It is the Unicode form and the case of the configuration, and U+FFFD for a lone surrogate;
        white space is kept as it is in every unit, save that one space stands between symbols.
        Capitals become small letters where the texts that were learnt from had none.
        """
        return self._clean(text)

    def _clean(self, text: str) -> str:
        return _normalize(self.config, text, lowercase=self.folds_capitals)

    def encode(self, text: str) -> Ids:
        """The ids of a text, without `<start>` and `<end>`; no special id but `<unk>` arises."""
        return self.encode_many([text])[0]

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """`encode` of each text, faster than one by one."""
        return self._tokenizer.encode_many([self.normalize(text) for text in texts])

    @property
    def as_target(self) -> Self:
        """The same vocabulary as a target reads it: capitals are always told apart."""
        return self._telling_capitals if self.folds_capitals else self

    @cached_property
    def _telling_capitals(self) -> Self:
        return self._with_learnt(NOTHING_LEARNT)

    @property
    def folds_capitals(self) -> bool:
        """Whether capitals are read as small letters, since the training data had none."""
        return self.learnt.folds_capitals

    @property
    def longest(self) -> int:
        """Tokens of the longest text that was learnt from; 0 where that is not known."""
        return self.learnt.longest

    def unknown_share(self, row: Values) -> float:
        """The share of a row's tokens that are `<unk>`, or single bytes in place of pieces; of
        tokens that are spelt, those with unknown letters."""
        inner = np.asarray(row, dtype=np.int32)[: len(row) - self.closing]
        ids = inner if inner.ndim == 1 else inner[:, 0]
        if inner.ndim == 1 and not np.count_nonzero(ids < FIRST_PIECE):
            return 0.0
        unknown = ids == UNK
        if inner.ndim > 1:
            unknown = unknown & (inner[:, 1:] == UNK).any(1)
        elif self.config.unit == "subword":
            unknown = unknown | ((ids > END) & (ids < FIRST_PIECE))
        return np.count_nonzero(unknown) / len(ids) if len(ids) else 0.0

    def fault(self, cell: str) -> DataError | None:
        """Every text can be cut; what is not known becomes `<unk>`, or is an error if so
        configured."""
        if self.config.unknown != "error" or UNK not in (ids := self.encode(cell)).tolist():
            return None
        words = split_symbols(self.normalize(cell))
        place = ids.tolist().index(UNK)
        strange = words[place] if place < len(words) else cell
        return DataError(
            f"{strange!r} is not in the vocabulary",
            remedy="add it to the vocabulary's file, or set unknown=unk",
        )

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """The ids of each text and `<end>` after them, each with its letters where it is spelt;
        without `<end>` where the vocabulary does not list it."""
        if not self.closing:
            return list(self.encode_many(cells))
        end = np.array([END], np.int32)
        closed = [np.concatenate((ids, end)) for ids in self.encode_many(cells)]
        if self._spelling is None:
            return list(closed)
        letters = (self._spelling.rows(self.normalize(cell)) for cell in cells)
        return [np.column_stack(both) for both in zip(closed, letters, strict=True)]

    def flat_rows(self, cells: Sequence[str]) -> FlatRows:
        """The same ids one after the other, thousands of texts at once."""
        if self.has_turns or self._spelling is not None:
            return super().flat_rows(cells)
        lowercase = self.folds_capitals or self.config.lowercase
        texts = normalize_many(cells, form=self.config.normalize, lowercase=lowercase)
        ids, lengths = self._tokenizer.encode_flat(texts)
        if not self.closing:
            return FlatRows(ids, lengths)
        closed = np.full(len(ids) + len(lengths), END, np.int32)
        shifts = np.repeat(np.arange(len(lengths)), lengths)
        closed[np.arange(len(ids)) + shifts] = ids
        return FlatRows(closed, lengths + 1)

    def split(self, cell: str, most: int) -> list[TextPiece]:
        """Pieces of at most so many tokens, of whole sentences or else of whole words."""
        return pack_sentences(cell, most, length=lambda text: len(self.encode(text)))

    def describe(self) -> str:
        """What the text is cut into, and how many symbols there are."""
        spelt = f", spelt with {self._spelling.count:,} letters" if self._spelling else ""
        given = ", in the order given" if self._listed else ""
        folded = f", {FOLDING}" if self.folds_capitals else ""
        return f"{self.config.unit}s, {self.items.table_size:,} symbols{given}{spelt}{folded}"

    def offsets(self, cell: str, row: Values | None = None) -> list[Offsets]:
        """Where each item of a cell's row stands in the cell; `<end>` is at its end."""
        ids = None
        if row is not None and row.ndim == 1:
            ids = np.asarray(row, dtype=np.int32)[: len(row) - self.closing]
        found = self._tokenizer.offsets(self._rewrite(cell), ids)
        alignment = TextAlignment.of_normalized(cell, self._rewrite)
        if alignment is not None:
            found = [alignment.original(each) for each in found]
        return [*found, *[(len(cell), len(cell))] * self.closing]

    def surfaces(self, cell: str) -> list[str]:
        """The word that each token of a cell was read from, as it was written; none where tokens
        are not words."""
        if self.config.unit in ("byte", *_PIECES):
            return []
        offsets = self.offsets(cell)
        found = [cell[start:end] for start, end in offsets[: len(offsets) - self.closing]]
        return [word.strip() for word in found] if self.config.unit == "word" else found

    def _rewrite(self, text: str) -> str:
        """The normalisation before symbols are set apart."""
        lowercase = self.folds_capitals or self.config.lowercase
        return normalize(text, form=self.config.normalize, lowercase=lowercase)

    def decoded_offsets(self, ids: Sequence[int] | Values) -> list[Offsets]:
        """Where each id stands in `decode(ids)`; special ones are where they would be."""
        tokens = _integers(ids)
        if tokens and tokens[-1] == END and _all_text(tokens[:-1]):
            known = self._tokenizer.decoded_offsets(tokens[:-1])
            place = known[-1][1] if known else 0
            return [*known, (place, place)]
        found = iter(self._tokenizer.decoded_offsets([t for t in tokens if _is_text(t)]))
        placed, place = [], 0
        for token in tokens:
            offsets = next(found) if _is_text(token) else (place, place)
            placed.append(offsets)
            place = offsets[1]
        return placed

    def cell(self, row: Any) -> str:
        """`decode`."""
        return self.decode(row)

    def decode(self, ids: Sequence[int] | Values) -> str:
        """The text of the ids; `<empty>`, `<start>` and `<end>` are left out, `<unk>` is shown."""
        tokens = _integers(ids)
        if not _all_text(tokens):
            tokens = [token for token in tokens if _is_text(token)]
        return self._tokenizer.decode(tokens)

    def facts(self) -> dict[str, Any]:
        """What clients are told: the unit, how many symbols there are, and what becomes of
        capitals that it has not learnt."""
        facts = {**super().facts(), "unit": self.config.unit}
        return {**facts, "folds_capitals": True} if self.folds_capitals else facts

    def spellings(self) -> Iterator[tuple[int, str]]:
        """Each id that is not special, with its text as a list of words would have it; of subwords
        only those that begin a word."""
        for token in range(len(SPECIAL_SYMBOLS), self.size):
            if self.config.unit not in _PIECES:
                yield token, self._tokenizer.decode([token])
            elif (shown := self._tokenizer.show(token)).startswith(WORD_START):
                yield token, shown.removeprefix(WORD_START)

    def tokens(self, ids: Sequence[int] | Values) -> list[str]:
        """A readable form of each id, for tables and the axes of pictures."""
        shown = self._shown
        return [shown.get(token) or self._show(token) for token in _integers(ids)]

    def _show(self, token: int) -> str:
        """A readable form of an id, which is remembered."""
        name = SPECIAL_SYMBOLS[token] if token <= END else self._tokenizer.show(token)
        return self._shown.setdefault(token, name)

    def state(self) -> FieldState:
        """All that `restore` needs."""
        saved = self._tokenizer.state()
        if noted := self.learnt.facts():  # earlier fields have none, and keep their hashes
            saved = FieldState({**saved.facts, **noted}, saved.model)
        if self._listed:
            return FieldState({**saved.facts, "listed": list(self._listed)}, saved.model)
        if self._spelling is None:
            return saved
        return FieldState({**saved.facts, "letters": self._spelling.alphabet()}, saved.model)

    def _state(self) -> FieldState:
        return self.state()

    @classmethod
    def restore(cls, config: TextConfig, facts: Mapping[str, Any], directory: Path) -> Self:
        """The field with these facts, whose other files lie in the directory."""
        place, model = directory / FACTS, b""
        if config.unit in _PIECES:
            place = directory / MODEL
            model = read_file(place)
        try:
            tokenizer = _TOKENIZERS[config.unit].restore(config, FieldState(facts, model))
            spelling = Spelling.restore(config, facts) if config.spelling else None
            learnt = LearntTexts.from_facts(facts)
            return cls(config, tokenizer, spelling, _parse_listed(facts), learnt)
        except RunError as error:
            raise error.at(place) from None


def _normalize(config: TextConfig, text: str, *, lowercase: bool = False) -> str:
    text = normalize(text, form=config.normalize, lowercase=lowercase or config.lowercase)
    return " ".join(split_symbols(text)) if config.unit == "symbol" else text


def _parse_listed(facts: Mapping[str, Any]) -> list[str]:
    """The saved order of a vocabulary that was given; none where it was learnt."""
    listed = facts.get("listed", [])
    if not isinstance(listed, list) or not all(isinstance(symbol, str) for symbol in listed):
        raise RunError(
            "the order of its vocabulary is damaged", remedy="restore the file from a copy"
        )
    return listed


def _integers(ids: Sequence[int] | Values) -> Sequence[int]:
    """The ids of tokens, without those of their letters."""
    if not isinstance(ids, np.ndarray):
        return ids
    plain: list[int] = (ids if ids.ndim == 1 else ids[:, 0]).astype(np.int64).tolist()
    return plain


def _is_text(token: int) -> bool:
    return token > END or token == UNK


def _all_text(tokens: Sequence[int]) -> bool:
    return min(tokens, default=END + 1) > END


def as_text_field(field: Field) -> TextField | None:
    """The field, where its cells are text; None for any other."""
    return field if isinstance(field, TextField) else None


def load_text(directory: Path) -> TextField:
    """The field that was saved there, which must be text."""
    field = load_field(directory)
    if not isinstance(field, TextField):
        raise RunError(
            f"is {field.describe()}, not text", place=directory / FACTS, remedy="name another field"
        )
    return field
