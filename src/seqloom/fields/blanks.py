"""Blanks: targets of the source's own tokens, and inputs with marked blanks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from seqloom.config.columns import COLUMNS, BlanksConfig, TextConfig
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.fields.field_files import FACTS, PersistentField
from seqloom.fields.items import Symbols
from seqloom.fields.protocol import Field, Values
from seqloom.fields.sentences import TextPiece, pack_sentences
from seqloom.fields.text import TextField, as_text_field
from seqloom.tokenizers.offsets import Offsets, TextAlignment
from seqloom.tokenizers.specials import BLANK, END, SPECIAL_SYMBOLS, FieldState

__all__ = ["BlanksField", "MarkedText"]

PLACEHOLDER = "\U00010600"  # stands for a blank during tokenization: a private-use character


@COLUMNS.part("blanks")
class BlanksField(PersistentField[BlanksConfig]):
    """A field of texts whose rows are the source's tokens, without `<end>`."""

    is_aligned: ClassVar[bool] = True
    takes_any_cell = True

    def __init__(self, config: BlanksConfig, text: TextField) -> None:
        """Use `beside` or `restore`."""
        self.config = config
        self.text = text

    @classmethod
    def learn_target(
        cls, config: BlanksConfig, cells: Iterable[str], *, source: Field, seed: int
    ) -> Self:
        """The blanks of texts that are cut as the source's are."""
        text = as_text_field(source)
        if text is None:
            raise ConfigError(
                f"a source of kind {source.config.kind} and blanks do not go together: blanks are "
                "tokens of a text"
            )
        return cls.from_source(config, text)

    def extend_target(self, cells: Sequence[str], *, source: Field) -> Self:
        """The field for a source field that has been extended."""
        return self.learn_target(self.config, cells, source=source, seed=0)

    @classmethod
    def from_source(cls, config: BlanksConfig, source: TextField) -> Self:
        """The blanks of texts that are cut as the source's are."""
        return cls(config, source)

    @classmethod
    def restore(cls, config: BlanksConfig, facts: Mapping[str, Any], directory: Path) -> Self:
        """The field with these facts."""
        try:
            cut = TextConfig.model_validate(facts.get("text"))
        except ValidationError:
            raise RunError(
                "does not say how its text is cut",
                place=directory / FACTS,
                remedy="restore it from a copy",
            ) from None
        return cls(config, TextField.restore(cut, facts, directory))

    @classmethod
    def placeholder_items(cls, config: BlanksConfig) -> Symbols:
        """Items of this kind of column before any data is known."""
        return Symbols(8)

    @property
    def items(self) -> Symbols:
        """The source's items."""
        return self.text.items

    @cached_property
    def fillable(self) -> NDArray[np.bool_]:
        """A mask of ids that can fill a blank: no special symbols, no spacing between words."""
        words = self.text.config.unit != "character"
        found = np.zeros(self.text.size, np.bool_)
        for token in range(len(SPECIAL_SYMBOLS), len(found)):
            shown = self.text.decode([token])
            found[token] = bool(shown.strip() if words else shown)
        return found

    def fault(self, cell: str) -> DataError | None:
        """None: every text is valid."""
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """The ids of each text."""
        return list(self.text.encode_many(cells))

    def cell(self, row: Any) -> str:
        """The text of a row."""
        return self.text.decode(row)

    def tokens(self, row: Any) -> list[str]:
        """A readable form of each id."""
        return self.text.tokens(row)

    def facts(self) -> dict[str, Any]:
        """Facts for clients: the unit of a blank and its marker."""
        return {**self.text.facts(), "marker": self.config.marker}

    def describe(self) -> str:
        """The unit of a blank and its marker."""
        return f"blanks for one {self.text.config.unit} each, marked {self.config.marker}"

    def _state(self) -> FieldState:
        return FieldState(
            {**self.text.state().facts, "text": self.text.config.model_dump(mode="json")}
        )


class MarkedText:
    """Encodes texts with marked blanks: a blank is one token, with the id `BLANK`.

    A marker that repeats one character may have any two or more of it. After a backslash it is
    literal.
    """

    is_absent = reads_files = truncates_left = False
    can_split = True
    length_unit = "tokens"

    def __init__(self, text: TextField, marker: str) -> None:
        self.text = text
        self.closing = text.closing
        self.marker = marker
        drawn = len(marker) > 1 and len(set(marker)) == 1
        mark = f"{re.escape(marker[0])}{{2,}}" if drawn else re.escape(marker)
        self._pattern = re.compile(rf"\\({mark})|{mark}")

    def fault(self, cell: str) -> DataError | None:
        """The error of an input without a blank, or with one inside a token."""
        marks = sum(match[1] is None for match in self._pattern.finditer(cell))
        if not marks:
            return DataError(
                "there is no blank to fill in",
                remedy=f"write {self.marker} where a token is missing",
            )
        (row,) = self.rows([cell])
        if int((row == BLANK).sum()) != marks:
            return DataError(
                f"a blank stands for a whole {self.text.config.unit}",
                remedy=f"put spaces around each {self.marker}, or write \\{self.marker} if it is "
                "plain text",
            )
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """The ids of each text, with `<end>`."""
        rows: list[Values] = []
        for ids in self._placeholder_field.encode_many(
            [self._insert_placeholders(cell) for cell in cells]
        ):
            marked = np.where(ids >= self.text.size, np.int32(BLANK), ids)
            rows.append(np.append(marked, np.full(self.closing, END, np.int32)))
        return rows

    @property
    def longest(self) -> int:
        """Tokens of the longest training text."""
        return self.text.longest

    def unknown_share(self, row: Values) -> float:
        """The unknown share of the text around the blanks."""
        return self.text.unknown_share(np.where(row == BLANK, np.int32(self.text.size), row))

    def truncate(self, row: Values, most: int) -> Values:
        """Truncate a row to `most` items, keeping its closing items."""
        return self.text.truncate(row, most)

    def split(self, cell: str, most: int) -> list[TextPiece]:
        """Split a text into pieces of at most so many tokens, at sentence or else word
        boundaries.
        """
        return pack_sentences(
            cell, most, length=lambda text: len(self.rows([text])[0]) - self.closing
        )

    def describe(self) -> str:
        """The field of the text, and the marker of blanks."""
        return f"{self.text.describe()}, with blanks marked {self.marker}"

    def plain_text(self, cell: str) -> str:
        """The raw text."""
        return cell

    def offsets(self, cell: str, row: Values | None = None) -> list[Offsets]:
        """The offsets of each item in the raw text; a blank has those of its marker."""
        pieces: list[tuple[int, int]] = []
        place = 0
        for match in self._pattern.finditer(cell):
            before, length = match.start() - place, len(match.group())
            plain = [(2, 1), (length - 2, length - 2)]  # a backslash and the escaped marker
            pieces += [(before, before), *(plain if match[1] else [(length, 1)])]
            place = match.end()
        alignment = TextAlignment.of_pieces([*pieces, (len(cell) - place, len(cell) - place)])
        found = self._placeholder_field.offsets(self._insert_placeholders(cell))
        return [alignment.original(each) for each in found]

    def fill(self, cell: str, ids: Sequence[int]) -> str:
        """Fill the first blanks of the raw text with the tokens of these ids."""
        tokens = map(self.text.decode, ([token] for token in ids))
        return self._pattern.sub(lambda mark: mark[1] or next(tokens, mark[0]), cell)

    def cell(self, row: Any) -> str:
        """The text of a row, with markers at its blanks."""
        ids = [
            self._placeholder_id if token == BLANK else token for token in np.asarray(row).tolist()
        ]
        return self._placeholder_field.decode(ids).replace(PLACEHOLDER, self.marker)

    def tokens(self, row: Any) -> list[str]:
        """A readable form of each id, with markers at the blanks."""
        pairs = zip(np.asarray(row).tolist(), self.text.tokens(row), strict=True)
        return [self.marker if token == BLANK else shown for token, shown in pairs]

    @cached_property
    def _placeholder_field(self) -> TextField:
        """The text field with one more symbol, the blank."""
        return self.text.extend([PLACEHOLDER] * self.text.config.min_count)

    @property
    def _placeholder_id(self) -> int:
        return self.text.size

    def _insert_placeholders(self, cell: str) -> str:
        clean = cell.replace(PLACEHOLDER, " ")
        return self._pattern.sub(lambda mark: mark[1] or PLACEHOLDER, clean)
