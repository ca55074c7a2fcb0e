"""The interface of every kind of column."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from seqloom.config.columns import ColumnConfig
from seqloom.errors import DataError
from seqloom.fields.items import FlatRows, Items, Values
from seqloom.fields.sentences import TextPiece
from seqloom.tokenizers.offsets import Offsets

__all__ = ["Field", "Readable", "UploadLimits", "Values"]


class UploadLimits(NamedTuple):
    """Limits for uploaded files."""

    pixels: int
    seconds: float


class Readable(Protocol):
    """Encodes the inputs of a model, which are cells of text, as arrays."""

    @property
    def closing(self) -> int:
        """Items at the end of every row that are not in its cell: `<end>`, or none."""

    @property
    def is_absent(self) -> bool:
        """Whether the column does not exist, so that all cells are empty."""

    @property
    def reads_files(self) -> bool:
        """Whether cells name files."""

    @property
    def longest(self) -> int:
        """Items of the longest training cell; 0 if unknown."""

    def unknown_share(self, row: Values) -> float:
        """The share of a row's items that are unknown tokens."""

    def fault(self, cell: str) -> DataError | None:
        """The error in a cell, with its remedy; None for a valid cell."""

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """Encode valid cells, each with its closing items."""

    def plain_text(self, cell: str) -> str:
        """The text of a cell that offsets point into: several texts are lines of it."""

    def offsets(self, cell: str, row: Values | None = None) -> list[Offsets]:
        """Where each item of a cell's row stands in its text; none where items are not text.
        Whoever has the row gives it, so that the cell need not be cut again."""

    def tokens(self, row: Any) -> list[str]:
        """A readable form of each item of a row, for tables and the axes of pictures."""

    def truncate(self, row: Values, most: int) -> Values:
        """Truncate a row to `most` items, keeping its closing items."""

    @property
    def truncates_left(self) -> bool:
        """Whether truncation drops items from the start of a row."""

    @property
    def length_unit(self) -> str:
        """The unit of a row's length; empty where all rows have the same length."""

    @property
    def can_split(self) -> bool:
        """Whether a cell that is too long can be read in pieces."""

    def split(self, cell: str, most: int) -> list[TextPiece]:
        """Pieces of a cell of at most so many items each, cut at ends of sentences or else of
        words, where cells can be split."""

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
    def is_text(self) -> bool:
        """Whether a cell is text that is cut into tokens."""

    @property
    def is_aligned(self) -> bool:
        """Whether each token of the source has an item of it."""

    @property
    def takes_uploads(self) -> bool:
        """Whether a file may be sent rather than named."""

    @property
    def takes_lists(self) -> bool:
        """Whether a cell may be a list of numbers rather than a file's name."""

    @property
    def takes_any_cell(self) -> bool:
        """Whether no cell can have a fault."""

    @property
    def needs_all_cells(self) -> bool:
        """Whether a sample of the cells is not enough to learn it from."""

    @property
    def fingerprint(self) -> str:
        """A hash that differs between fields that encode some cell differently."""

    @property
    def as_target(self) -> "Field":
        """The same vocabulary as a target reads it, where both sides share one."""

    def flat_rows(self, cells: Sequence[str]) -> FlatRows:
        """`rows` one after the other, which is faster for thousands of cells."""

    def cell(self, row: Any) -> str:
        """Decode a row into its cell, without the closing items."""

    def decoded_offsets(self, row: Any) -> list[Offsets]:
        """Where each item of a row stands in `cell(row)`; none where items are not text."""

    def surfaces(self, cell: str) -> list[str]:
        """The word that each item of a cell was read from; none where items are not words."""

    def unseen(self, cell: str) -> list[str]:
        """Labels of a cell that the training data did not have, where a column holds labels."""

    def extend(self, cells: Sequence[str]) -> "Field":
        """This field with the symbols that these cells add, if it can grow."""

    def extend_target(self, cells: Sequence[str], *, source: "Field") -> "Field":
        """The same for a target, given its source as it has grown."""

    def facts(self) -> dict[str, Any]:
        """Properties of the column for clients, beside its kind."""

    def read_upload(self, content: bytes, limits: UploadLimits) -> Values:
        """The row of a file's content; DataError where it cannot be read or exceeds a limit."""

    def save(self, directory: Path) -> None:
        """Write the field's files into a directory, which is made if it is not there."""
