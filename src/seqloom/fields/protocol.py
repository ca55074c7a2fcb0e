"""The interface of fields."""

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
        """The text of a cell into which offsets point; several texts are its lines."""

    def offsets(self, cell: str, row: Values | None = None) -> list[Offsets]:
        """The offsets of each item in the cell's text; empty if items are not text. Passing the row
        saves tokenizing again.
        """

    def tokens(self, row: Any) -> list[str]:
        """A readable form of each item of a row, for tables and the axes of pictures."""

    def truncate(self, row: Values, most: int) -> Values:
        """Truncate a row to `most` items, keeping its closing items."""

    @property
    def truncates_left(self) -> bool:
        """Whether truncation drops items from the start of a row."""

    @property
    def length_unit(self) -> str:
        """The unit of a row's length; empty if all rows have the same length."""

    @property
    def can_split(self) -> bool:
        """Whether long cells can be read in pieces."""

    def split(self, cell: str, most: int) -> list[TextPiece]:
        """Split a cell into pieces of at most so many items, at sentence or else word boundaries,
        if cells can be split.
        """

    def describe(self) -> str:
        """The field in a few words."""


@runtime_checkable
class Field(Readable, Protocol):
    """Encodes the cells of a column, which are text, as arrays, and decodes them."""

    @property
    def config(self) -> ColumnConfig:
        """The options of the column."""

    @property
    def items(self) -> Items:
        """The items of a row."""

    @property
    def is_text(self) -> bool:
        """Whether a cell is tokenized text."""

    @property
    def is_aligned(self) -> bool:
        """Whether each source token has an item."""

    @property
    def takes_uploads(self) -> bool:
        """Whether files can be uploaded."""

    @property
    def takes_lists(self) -> bool:
        """Whether a cell may be a list of numbers rather than a file's name."""

    @property
    def takes_any_cell(self) -> bool:
        """Whether every cell is valid."""

    @property
    def needs_all_cells(self) -> bool:
        """Whether it must be learnt from all cells, not a sample."""

    @property
    def fingerprint(self) -> str:
        """A hash that differs between fields that encode some cell differently."""

    @property
    def as_target(self) -> "Field":
        """The field as a target, if both sides share a vocabulary."""

    def flat_rows(self, cells: Sequence[str]) -> FlatRows:
        """`rows` as one flat array, which is faster for thousands of cells."""

    def cell(self, row: Any) -> str:
        """Decode a row into its cell, without the closing items."""

    def decoded_offsets(self, row: Any) -> list[Offsets]:
        """The offsets of each item in `cell(row)`; empty if items are not text."""

    def surfaces(self, cell: str) -> list[str]:
        """The word that each item of a cell was read from; empty if items are not words."""

    def unseen(self, cell: str) -> list[str]:
        """Labels of a cell unseen in training; empty for other columns."""

    def extend(self, cells: Sequence[str]) -> "Field":
        """Extend the field by the symbols that these cells add, if it can grow."""

    def extend_target(self, cells: Sequence[str], *, source: "Field") -> "Field":
        """Extend a target's field, given the extended source."""

    def facts(self) -> dict[str, Any]:
        """Facts about the column for clients, besides its kind."""

    def read_upload(self, content: bytes, limits: UploadLimits) -> Values:
        """Encode an upload; DataError if it cannot be read or exceeds a limit."""

    def save(self, directory: Path) -> None:
        """Write the field's files into a directory, which is made if it is not there."""
