"""What every kind of column offers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from seqloom.config.columns import ColumnConfig
from seqloom.errors import DataError
from seqloom.fields.items import Items, Values
from seqloom.fields.sentences import TextPiece
from seqloom.tokenizers.offsets import Offsets

__all__ = ["Field", "Readable", "UploadLimits", "Values"]


class UploadLimits(NamedTuple):
    """What a file may have that was sent rather than named."""

    pixels: int
    seconds: float


class Readable(Protocol):
    """What turns inputs of a model, which are text, into arrays of numbers."""

    @property
    def closing(self) -> int:
        """Items at the end of every row that are not in its cell: `<end>`, or none."""

    @property
    def is_absent(self) -> bool:
        """Whether there is no such column, and cells are empty."""

    @property
    def reads_files(self) -> bool:
        """Whether cells name files."""

    @property
    def longest(self) -> int:
        """Items of the longest cell that was learnt from; 0 where that is not known."""

    def unknown_share(self, row: Values) -> float:
        """The share of a row's items that stand for something that was not learnt."""

    def fault(self, cell: str) -> DataError | None:
        """The error that a cell is, with how to mend it; None where nothing is wrong with it."""

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """Each cell as its items, closed; the cells have no fault."""

    def plain_text(self, cell: str) -> str:
        """The text of a cell that offsets point into: several texts are lines of it."""

    def offsets(self, cell: str) -> list[Offsets]:
        """Where each item of a cell's row stands in its text; none where items are not text."""

    def tokens(self, row: Any) -> list[str]:
        """A readable form of each item of a row, for tables and the axes of pictures."""

    def truncate(self, row: Values, most: int) -> Values:
        """So many items of a row at most, and those that close it."""

    @property
    def truncates_left(self) -> bool:
        """Whether what is oldest in a row is left out where there is too much of it."""

    @property
    def length_unit(self) -> str:
        """Of what a row has a length; empty where all rows are alike."""

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
        """Differs wherever two fields differ in what they make of a cell."""

    @property
    def as_target(self) -> "Field":
        """The same vocabulary as a target reads it, where both sides share one."""

    def cell(self, row: Any) -> str:
        """The cell of a row; of a text without what closes it."""

    def decoded_offsets(self, row: Any) -> list[Offsets]:
        """Where each item of a row stands in `cell(row)`; none where items are not text."""

    def surfaces(self, cell: str) -> list[str]:
        """The word that each item of a cell was read from; none where items are not words."""

    def unseen(self, cell: str) -> list[str]:
        """Labels of a cell that the training data did not have, where a column holds labels."""

    def extend(self, cells: Sequence[str]) -> "Field":
        """This field with what it lacks of these cells, where it can grow."""

    def extend_target(self, cells: Sequence[str], *, source: "Field") -> "Field":
        """The same for a target, given its source as it has grown."""

    def facts(self) -> dict[str, Any]:
        """What clients are told of the column, beside its kind."""

    def read_upload(self, content: bytes, limits: UploadLimits) -> Values:
        """The row of a file's content; DataError where it cannot be read or exceeds a limit."""

    def save(self, directory: Path) -> None:
        """Write the field's files into a directory, which is made if it is not there."""
