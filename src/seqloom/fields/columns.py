"""Several columns of text as one sequence, each with its own unit (S1.1).

A cell is a JSON list with a text for each column. Each column but the first is preceded by its
separator. Columns with the same unit share a vocabulary.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from seqloom.config.columns import COLUMNS, ColumnsConfig
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.fields.field_files import FACTS, PersistentField
from seqloom.fields.items import Symbols, Values
from seqloom.fields.text import TextField
from seqloom.fields.turns import join_turns, parse_list
from seqloom.tokenizers import Ids
from seqloom.tokenizers.offsets import Offsets, TextAlignment, shift
from seqloom.tokenizers.specials import END, SPECIAL_SYMBOLS, UNK, FieldState
from seqloom.tokenizers.tokenizer import LearntTexts, TextObserver

__all__ = ["ColumnsField"]

FIRST = len(SPECIAL_SYMBOLS)  # the separator of the second column
MARKS = re.compile(r"[;|,\s]+")  # separators of features


class _Block(NamedTuple):
    """A block of consecutive ids: the symbols of a unit."""

    unit: str
    start: int
    length: int


@COLUMNS.part("columns")
class ColumnsField(PersistentField[ColumnsConfig]):
    """A field of texts in the order of their columns; immutable once learnt."""

    is_text: ClassVar[bool] = True
    length_unit: ClassVar[str] = "tokens"

    closing = 1  # `<end>`

    def __init__(
        self,
        config: ColumnsConfig,
        texts: Mapping[str, TextField],
        blocks: Sequence[_Block],
        longest: int = 0,
    ) -> None:
        """Use `learn` or `restore`."""
        self.config = config
        self._longest = longest
        self._texts = dict(texts)
        self._blocks = tuple(blocks)

    @classmethod
    def learn(cls, config: ColumnsConfig, cells: Iterable[str], *, seed: int) -> Self:
        """Learn a vocabulary for each unit from its columns."""
        observer = TextObserver()
        texts = _texts_by_unit(config.units, observer.watch(cells))
        fields = {
            unit: TextField.learn(config.text_options(unit), found, seed=seed)
            for unit, found in texts.items()
        }
        blocks = [_Block(unit, FIRST, field.size - FIRST) for unit, field in fields.items()]
        field = cls(config, fields, blocks)
        longest = max(map(len, field.rows(observer.longest)), default=cls.closing) - cls.closing
        return cls(config, fields, blocks, longest)

    def extend(self, cells: Iterable[str]) -> Self:
        """Extend the vocabularies by unknown symbols; existing ids stay."""
        found = _texts_by_unit(self.config.units, cells)
        fields = {unit: field.extend(found[unit]) for unit, field in self._texts.items()}
        added = [
            _Block(unit, old.size, fields[unit].size - old.size)
            for unit, old in self._texts.items()
            if fields[unit].size > old.size
        ]
        size = max(self.config.size, *(field.size for field in fields.values()))
        config = self.config.model_copy(update={"size": size})
        return type(self)(config, fields, [*self._blocks, *added], self._longest)

    @classmethod
    def placeholder_items(cls, config: ColumnsConfig) -> Symbols:
        """Items of this kind of column before any data is known."""
        return Symbols(8 + len(config.units))

    @property
    def items(self) -> Symbols:
        """Tokens of all vocabularies, and the separators."""
        return Symbols(self._first_symbol + sum(block.length for block in self._blocks))

    def fault(self, cell: str) -> DataError | None:
        """The error of a cell that is not a list with a text for each column, one of them
        nonblank.
        """
        found, count = parse_list(cell), len(self.config.units)
        texts = found is not None and all(isinstance(each, str) for each in found)
        if not texts or found is None or len(found) != count:
            return DataError(f"the source has {count} columns", remedy="give a text for each")
        if not any(map(str.strip, found)):
            return DataError("there is no text in any source column", remedy="give one at least")
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """Encode the tokens of each column, with separators in between, and `<end>`."""
        columns = zip(*(_split_cell(cell) for cell in cells), strict=True)
        encoded = [
            self._encode(unit, column)
            for unit, column in zip(self.config.units, columns, strict=False)
        ]
        separators = [np.array([], np.int32), *(np.array([n], np.int32) for n in self._separators)]
        closing = np.array([END], np.int32)
        return [
            np.concatenate([*chain.from_iterable(zip(separators, row, strict=True)), closing])
            for row in zip(*encoded, strict=True)
        ]

    @property
    def longest(self) -> int:
        """Tokens of the longest training row; 0 if unknown."""
        return self._longest

    def unknown_share(self, row: Values) -> float:
        """The share of a row's tokens that are `<unk>`."""
        return float((row[: len(row) - self.closing] == UNK).mean()) if len(row) > 1 else 0.0

    def truncate(self, row: Values, most: int) -> Values:
        """Truncate a row to so many items by cutting the ends of the longest columns."""
        excess = len(row) - self.closing - most
        if excess <= 0:
            return row
        parts = self._parts(row)
        room = max(1, most - len(parts) + 1)
        lengths = [len(part) for part in parts]
        while sum(lengths) > room:
            longest = lengths.index(max(lengths))
            rest = sorted(lengths)[-2] if len(lengths) > 1 else 0
            lengths[longest] -= max(1, min(sum(lengths) - room, lengths[longest] - rest))
        kept = [
            range(part.start - (part.start > 0), part.start + length)  # with its separator
            for part, length in zip(parts, lengths, strict=True)
        ]
        closing = range(len(row) - self.closing, len(row))
        return row[np.concatenate([*kept, closing]).astype(np.int64)]

    def plain_text(self, cell: str) -> str:
        """The columns joined by line breaks."""
        return "\n".join(_split_cell(cell))

    def offsets(self, cell: str, row: Values | None = None) -> list[Offsets]:
        """The offsets of each item in the columns joined by line breaks; a separator has those of
        its line break.
        """
        found: list[Offsets] = []
        begin = 0
        for unit, text in zip(self.config.units, _split_cell(cell), strict=False):
            field = self._texts[unit]
            own = field.offsets(_prepare(unit, text))[: -field.closing or None]
            if unit == "feature":
                alignment = _preparation_alignment(text)
                own = [alignment.original(each) for each in own]
            found += shift(own, begin)
            begin += len(text) + 1
            found.append((begin - 1, begin))
        return [*found[:-1], (begin - 1, begin - 1)]

    def cell(self, row: Any) -> str:
        """Decode a row to a list with the text of each column."""
        parts = self._split_row(np.asarray(row))
        return join_turns(map(self._decode, self.config.units, parts))

    def tokens(self, row: Any) -> list[str]:
        """A readable form of each id; that of a separator is `<column 2>`."""
        return [self._names[token] for token in np.asarray(row).tolist()]

    def facts(self) -> dict[str, Any]:
        """Facts for clients: the units and the number of symbols."""
        return {**super().facts(), "units": list(self.config.units)}

    def describe(self) -> str:
        """The unit of each column, and the number of symbols."""
        units = ", ".join(f"{unit}s" for unit in self.config.units)
        folding = [unit for unit, text in self._texts.items() if text.folds_capitals]
        folded = f", capitals of {' and '.join(folding)}s read as small letters" if folding else ""
        return f"columns of {units}, {self.items.count:,} symbols{folded}"

    @property
    def _separators(self) -> range:
        """The separator id of each column but the first."""
        return range(FIRST, FIRST + len(self.config.units) - 1)

    @property
    def _first_symbol(self) -> int:
        return self._separators.stop

    @cached_property
    def _ids(self) -> dict[str, Ids]:
        """The id of each symbol of a unit's vocabulary."""
        tables = {unit: np.full(field.size, UNK, np.int32) for unit, field in self._texts.items()}
        first = self._first_symbol
        for unit, start, count in self._blocks:
            tables[unit][start : start + count] = np.arange(first, first + count)
            first += count
        return tables

    @cached_property
    def _names(self) -> list[str]:
        names = [*SPECIAL_SYMBOLS, *(f"<column {n}>" for n in range(2, len(self.config.units) + 1))]
        for unit, start, count in self._blocks:
            names += self._texts[unit].tokens(range(start, start + count))
        return names

    def _encode(self, unit: str, texts: Sequence[str]) -> list[Ids]:
        table, clean = self._ids[unit], [_prepare(unit, text) for text in texts]
        return [table[ids] for ids in self._texts[unit].encode_many(clean)]

    def _decode(self, unit: str, ids: Ids) -> str:
        symbols = {int(id_): symbol for symbol, id_ in enumerate(self._ids[unit])}
        return self._texts[unit].decode([symbols.get(token, UNK) for token in ids.tolist()])

    def _split_row(self, row: Values) -> list[Any]:
        """The tokens of each column."""
        parts = [row[part.start : part.stop] for part in self._parts(row)]
        return [*parts, *[row[:0]] * (len(self.config.units) - len(parts))]

    def _parts(self, row: Values) -> list[range]:
        """The positions of each column's tokens."""
        ids = (row if row.ndim == 1 else row[:, 0])[: len(row) - self.closing]
        marks = np.flatnonzero((ids >= FIRST) & (ids < self._first_symbol)).tolist()
        return [range(begin + 1, end) for begin, end in pairwise([-1, *marks, len(ids)])]

    def _state(self) -> FieldState:
        states = {unit: field.state() for unit, field in self._texts.items()}
        facts = {unit: dict(state.facts) for unit, state in states.items()}
        model = next((state.model for state in states.values() if state.model), b"")
        noted = LearntTexts(longest=self._longest).facts()
        blocks = [list(each) for each in self._blocks]
        return FieldState({"texts": facts, "blocks": blocks, **noted}, model)

    @classmethod
    def restore(cls, config: ColumnsConfig, facts: Mapping[str, Any], directory: Path) -> Self:
        """The field with these facts, whose other files lie in the directory."""
        place = directory / FACTS
        texts, blocks = facts.get("texts"), facts.get("blocks")
        damaged = RunError("its columns are damaged", place=place, remedy="restore it from a copy")
        whole = isinstance(texts, dict) and set(texts) == set(config.units) != set()
        if not whole or not isinstance(texts, dict) or not _are_blocks(blocks):
            raise damaged
        fields = {
            unit: TextField.restore(config.text_options(unit), _mapping(found), directory)
            for unit, found in texts.items()
        }
        found = [_Block(*each) for each in blocks or ()]
        for unit, field in fields.items():
            ends = [FIRST, *(each.start + each.length for each in found if each.unit == unit)]
            starts = [each.start for each in found if each.unit == unit]
            if [*starts, field.size] != ends:
                raise damaged
        ordered = {unit: fields[unit] for unit in _distinct(config.units)}
        return cls(config, ordered, found, LearntTexts.from_facts(facts).longest)


def _distinct(units: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(units))


def _texts_by_unit(units: Sequence[str], cells: Iterable[str]) -> dict[str, list[str]]:
    """The texts of each unit, with features separated by spaces."""
    texts: dict[str, list[str]] = {unit: [] for unit in units}
    for cell in cells:
        found = _split_cell(cell)
        if len(found) != len(units):
            raise ConfigError(
                f"the source has {len(found)} columns and source.units {len(units)}",
                remedy="give each one",
            )
        for unit, text in zip(units, found, strict=True):
            texts[unit].append(_prepare(unit, text))
    return texts


def _split_cell(cell: str) -> list[str]:
    found = parse_list(cell)
    return [cell] if found is None else found


def _prepare(unit: str, text: str) -> str:
    """Prepare a text for its tokenizer: features are separated by spaces."""
    return MARKS.sub(" ", text).strip() if unit == "feature" else text


def _preparation_alignment(text: str) -> TextAlignment:
    """The offsets of prepared features in their raw text."""
    pieces: list[tuple[int, int]] = []
    place = 0
    for match in MARKS.finditer(text):
        inside = match.start() > 0 and match.end() < len(text)
        kept = match.start() - place
        pieces += [(kept, kept), (len(match.group()), int(inside))]
        place = match.end()
    return TextAlignment.of_pieces([*pieces, (len(text) - place, len(text) - place)])


def _are_blocks(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, list)
        and len(each) == 3
        and [type(part) for part in each] == [str, int, int]
        for each in value
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
