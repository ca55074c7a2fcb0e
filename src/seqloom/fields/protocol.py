"""What every kind of column offers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from seqloom.config.columns import ColumnConfig
from seqloom.fields.items import Items
from seqloom.fields.values import Values

__all__ = ["Field", "Readable", "Values"]


class Readable(Protocol):
    """What turns inputs of a model, which are text, into arrays of numbers."""

    @property
    def closing(self) -> int:
        """Items at the end of every row that are not in its cell: `<end>`, or none."""

    def fault(self, cell: str) -> str | None:
        """What is wrong with a cell and how to mend it, if anything is."""

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """Each cell as its items, closed; the cells have no fault."""

    def truncate(self, row: Values, most: int) -> Values:
        """So many items of a row at most, and those that close it."""

    def describe(self) -> str:
        """The field in a few words."""


@runtime_checkable
class Field(Readable, Protocol):
    """A column between cells, which are text, and arrays of numbers."""

    @property
    def config(self) -> ColumnConfig:
        """What the column holds."""

    @property
    def items(self) -> Items:
        """What a row is made of."""

    @property
    def truncates_left(self) -> bool:
        """Whether what is oldest in a row is left out where there is too much of it."""

    @property
    def fingerprint(self) -> str:
        """Differs wherever two fields differ in what they make of a cell."""

    def cell(self, row: Any) -> str:
        """The cell of a row; of a text without what closes it."""

    def tokens(self, row: Any) -> list[str]:
        """A readable form of each item of a row, for tables and the axes of pictures."""

    def save(self, directory: Path) -> None:
        """Write the field's files into a directory, which is made if it is not there."""
