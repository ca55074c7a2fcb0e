"""Several texts as one sequence, such as the turns of a dialog (S1.1, S8).

A cell is a JSON list of texts; anything else is one text. Between two texts stands `<turn>`. It has
the id that `<start>` has in a target, so no text can give it and no vocabulary has to make room.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from seqloom.config.columns import COLUMNS, TextConfig
from seqloom.errors import ConfigError, DataError
from seqloom.fields.items import Values
from seqloom.fields.text import TextField
from seqloom.tokenizers import Ids, Tokenizer
from seqloom.tokenizers.offsets import Offsets, shift
from seqloom.tokenizers.specials import START
from seqloom.tokenizers.spelling import Spelling
from seqloom.tokenizers.tokenizer import NOTHING_LEARNT, LearntTexts

__all__ = ["TURN", "TurnsField", "join_turns", "parse_list", "split_turns"]

TURN = "<turn>"


def join_turns(turns: Iterable[str]) -> str:
    """The cell of these texts."""
    return json.dumps(list(turns), ensure_ascii=False)


def split_turns(cell: str) -> list[str]:
    """The texts of a cell: `parted(joined(turns)) == turns`; what is no list is one text."""
    found = parse_list(cell)
    return [cell] if found is None or not _are_texts(found) else found


def parse_list(cell: str) -> list[Any] | None:
    """The list that a cell is written as in JSON, if it is one."""
    if not cell.lstrip().startswith("["):
        return None
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _are_texts(found: list[Any]) -> bool:
    return all(isinstance(each, str) for each in found)


@COLUMNS.part("turns")
class TurnsField(TextField):
    """Texts in the order in which they were said; where there is no room for all, the newest."""

    has_turns: ClassVar[bool] = True
    takes_any_cell = False
    truncates_left = True
    can_split: ClassVar[bool] = False

    def __init__(
        self,
        config: TextConfig,
        tokenizer: Tokenizer,
        spelling: Spelling | None = None,
        listed: Sequence[str] = (),
        learnt: LearntTexts = NOTHING_LEARNT,
    ) -> None:
        """Use `learn` or `restore`, as for a `TextField`."""
        super().__init__(config, tokenizer, spelling, listed, learnt)
        self.takes_any_cell = False
        self._text = TextField(config, tokenizer, spelling, listed, learnt)
        self._most = config.newest_turns

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Make the vocabulary from every turn of the cells."""
        field = super().learn(config, chain.from_iterable(map(split_turns, texts)), seed=seed)
        if not field.has_end:
            raise ConfigError(
                "turns are set apart by special symbols, and the vocabulary does not list <end>",
                remedy="list <start> and <end>, or set specials=all",
            )
        return field

    def extend(self, texts: Iterable[str]) -> Self:
        """This field with further ids for what it does not know in the turns of the cells."""
        return super().extend(chain.from_iterable(map(split_turns, texts)))

    def normalize(self, text: str) -> str:
        """The stated normalisation of each turn that is read, as a list."""
        return join_turns(map(self._text.normalize, self._newest(text)))

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of the newest turns of each cell, `<turn>` between them."""
        return [_tokens(row)[: len(row) - self.closing] for row in self.rows(texts)]

    def fault(self, cell: str) -> DataError | None:
        """A list of anything else than texts, or a list without any."""
        found = parse_list(cell)
        if found is None:
            return None
        if not _are_texts(found):
            return DataError(
                "a list of turns holds texts alone",
                remedy='write it as ["first turn", "second turn"]',
            )
        if not any(turn.strip() for turn in found):
            return DataError(
                "there is no text in the list of turns", remedy="give one turn at least"
            )
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """The tokens of the newest turns of each cell, `<turn>` between them and `<end>` after."""
        turns = [self._newest(cell) for cell in cells]
        read = iter(self._text.rows(list(chain.from_iterable(turns))))
        return [_join_rows([next(read) for _ in each]) for each in turns]

    def plain_text(self, cell: str) -> str:
        """The turns, a line break between two."""
        return "\n".join(split_turns(cell))

    def offsets(self, cell: str, row: Values | None = None) -> list[Offsets]:
        """Where each item of a cell's row stands in its turns, a line break between two."""
        read = self._newest(cell)
        begin = len(self.plain_text(cell)) - len("\n".join(read))
        found: list[Offsets] = []
        for turn in read:
            found += shift(self._text.offsets(turn)[: -self.closing], begin)
            begin += len(turn) + 1
            found.append((begin - 1, begin))  # `<turn>`
        return [*found[:-1], (begin - 1, begin - 1)]

    def decode(self, ids: Sequence[int] | Values) -> str:
        """The cell of the ids: a list of turns."""
        tokens = _tokens(ids)
        parts = np.split(tokens, np.flatnonzero(tokens == START))
        return join_turns(map(self._text.decode, parts))

    def tokens(self, ids: Sequence[int] | Values) -> list[str]:
        """A readable form of each id, of a separator `<turn>`."""
        tokens = _tokens(ids)
        named = zip(tokens, self._text.tokens(tokens), strict=True)
        return [TURN if token == START else name for token, name in named]

    def truncate(self, row: Values, most: int) -> Values:
        """The newest turns that fit whole; of a newest turn that does not, its end."""
        first = len(row) - self.closing - most
        if first <= 0:
            return row
        marks = np.flatnonzero(_tokens(row)[first - 1 :] == START)
        return row[first + marks[0] if len(marks) else first :]

    def describe(self) -> str:
        """What the turns are cut into, how many symbols there are, and how many turns are read."""
        return f"turns of {self._text.describe()}" + f", the newest {self._most}" * (self._most > 0)

    def _newest(self, cell: str) -> list[str]:
        """The turns of a cell that are read, however long they are; at least one."""
        return split_turns(cell)[-self._most :] or [""]


def _join_rows(turns: list[Values]) -> Values:
    """Closed rows as one, in which `<turn>` stands in place of the first ones' `<end>`."""
    row: Values = np.concatenate(turns, dtype=np.int32)
    ends = np.cumsum([len(turn) for turn in turns])[:-1] - 1
    _tokens(row)[ends] = START
    return row


def _tokens(row: Any) -> Ids:
    """The ids of a row's tokens, without those of their letters; a view of an array."""
    table = np.asarray(row, dtype=np.int32)
    return table if table.ndim == 1 else table[:, 0]
