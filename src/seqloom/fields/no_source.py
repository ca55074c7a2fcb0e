"""The absent source of a language model (S1.2)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from seqloom.config.columns import COLUMNS, NoColumnConfig
from seqloom.errors import DataError
from seqloom.fields.field_files import PersistentField
from seqloom.fields.items import Symbols, Values
from seqloom.tokenizers.specials import END, SPECIAL_SYMBOLS

__all__ = ["NoField"]


@COLUMNS.part("none")
class NoField(PersistentField[NoColumnConfig]):
    """A field of empty cells, whose rows are `<end>` alone."""

    is_absent: ClassVar[bool] = True
    takes_any_cell = True

    closing = 1  # `<end>`

    def __init__(self, config: NoColumnConfig) -> None:
        self.config = config

    @classmethod
    def learn(cls, config: NoColumnConfig, cells: Iterable[str], *, seed: int) -> Self:
        """There is nothing to learn."""
        return cls(config)

    @classmethod
    def restore(cls, config: NoColumnConfig, facts: Mapping[str, Any], directory: Path) -> Self:
        """Nothing is saved beyond the kind."""
        return cls(config)

    @classmethod
    def placeholder_items(cls, config: NoColumnConfig) -> Symbols:
        """Items of the kind that such a column has, before there is any data."""
        return Symbols(8)

    @property
    def items(self) -> Symbols:
        """The special symbols."""
        return Symbols(len(SPECIAL_SYMBOLS))

    def fault(self, cell: str) -> DataError | None:
        """None: every cell is empty."""
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """`<end>` for each."""
        return [np.array([END], dtype=np.int32) for _ in cells]

    def tokens(self, row: Any) -> list[str]:
        """The special symbols of these ids."""
        return [SPECIAL_SYMBOLS[token] for token in row]

    def cell(self, row: Any) -> str:
        """Empty."""
        return ""

    def describe(self) -> str:
        """In a word."""
        return "none"
