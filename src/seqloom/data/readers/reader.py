"""What reads a file of rows: one class for each format, chosen by the ending of the file's name.

A user adds a format by deriving from `FileReader` and registering the class under its ending.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from seqloom.config import DataConfig
from seqloom.data.readers.lines import count_lines
from seqloom.data.report import Fault, FileLocation
from seqloom.errors import DataError
from seqloom.registry import Family

__all__ = ["READERS", "FileReader", "Record", "file_ending", "reader_of"]

DEFAULT = "tsv"


class Record(NamedTuple):
    """The cells of one row and the place where it starts."""

    place: FileLocation
    cells: list[str]


class FileReader(ABC):
    """Reads the rows of a file of one format."""

    has_tags: ClassVar[bool] = False  # whether there is a word a line, each with its tags
    is_plain_text: ClassVar[bool] = False  # whether all lines may be one stream
    names_columns: ClassVar[bool] = False  # whether the first record of `preview` is their names
    row_unit: ClassVar[str] = "lines"  # what `count_rows` counts

    @abstractmethod
    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """The wanted cells of each row in order, or what is wrong with it."""

    def preview(self, path: Path) -> Iterator[Record | Fault]:
        """Records with all cells; none where the format is no table."""
        return iter(())

    def count_rows(self, path: Path) -> int:
        """How long the file is."""
        return count_lines(path)

    def count_columns(self, path: Path) -> int:
        """How many columns its first row has; 0 where there are none, or none can be read."""
        try:
            first = next(self.preview(path), None)
        except DataError:
            return 0
        return len(first.cells) if isinstance(first, Record) else 0


READERS: Family[Any, type[FileReader]] = Family("file format", home="seqloom.data.readers")


def reader_of(path: Path) -> FileReader:
    """What reads a file, by its ending; an unknown one means TSV."""
    ending = file_ending(path)
    return READERS.part_of(ending if ending in READERS else DEFAULT)()


def file_ending(path: Path) -> str:
    """What the name of a file says about its format."""
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]
