"""What reads a file of rows: one class for each format, chosen by the ending of the file's name.

A user adds a format by deriving from `FileReader` and registering the class under its ending. Which
columns are source, target and weight is chosen by name, or by position from 1.
"""

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import file_digest
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from seqloom.config import DataConfig
from seqloom.errors import DataError
from seqloom.readers.lines import Fault, FileLocation, count_lines
from seqloom.registry import Family

__all__ = [
    "READERS",
    "BlockParser",
    "ColumnSelection",
    "FileIdentity",
    "FileReader",
    "Header",
    "Record",
    "file_ending",
    "file_hash",
    "reader_of",
]

DEFAULT = "tsv"


class Record(NamedTuple):
    """The cells of one row and the place where it starts."""

    place: FileLocation
    cells: list[str]


class BlockParser(Protocol):
    """Reads the records of any stretch of a file, once the first records have settled how."""

    @property
    def is_ready(self) -> bool:
        """Whether stretches can be read apart from each other from now on."""

    def records(self, lines: Iterator[str | Fault], first: int) -> Iterator[Record | Fault]:
        """The wanted cells of lines in a row, the first of which has this number."""

    def clean_cells(self, lines: list[str]) -> list[list[str]] | None:
        """The wanted cells of sound lines, column by column; None unless each line is a row."""

    def check_rows(self) -> None:
        """DataError where nothing but a header was read."""


HASH_DIGITS = 8  # of a hash that is told


@dataclass(frozen=True)
class FileIdentity:
    """One file of a data set, or the rows in memory."""

    name: str
    rows: int
    unit: str = "rows"  # that are counted: rows, or lines of text
    columns: int = 0  # 0 where the format has none
    sha256: str = ""

    def differences(self, before: "FileIdentity") -> Iterator[str]:
        """How this file differs from what it was, in words."""
        if self.name != before.name:
            yield f"is called {self.name} where it was {before.name}"
        if self.columns != before.columns:
            yield f"has {self.columns} columns where it had {before.columns}"
        if self.rows != before.rows:
            yield f"has {self.rows:,} {self.unit} where it had {before.rows:,}"
        if self.sha256 != before.sha256:
            hashes = (each.sha256[:HASH_DIGITS] for each in (self, before))
            yield "has the SHA-256 {}... where it had {}...".format(*hashes)


class FileReader(ABC):
    """Reads the rows of a file of one format."""

    has_tags: ClassVar[bool] = False  # whether there is a word a line, each with its tags
    is_plain_text: ClassVar[bool] = False  # whether all lines may be one stream
    names_columns: ClassVar[bool] = False  # whether the first record of `preview` is their names
    row_unit: ClassVar[str] = "lines"  # what `count_rows` counts

    @abstractmethod
    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """The wanted cells of each row in order, or what is wrong with it."""

    def block_parser(self, path: Path, config: DataConfig) -> BlockParser | None:
        """What reads stretches of the file's lines apart from each other; None where rows depend on
        those before them."""
        return None

    def preview(self, path: Path) -> Iterator[Record | Fault]:
        """Records with all cells; none where the format is no table."""
        return iter(())

    def note(self, path: Path) -> str:
        """What a reader should know of how the file is read; nothing by default."""
        return ""

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

    def identify(self, path: Path) -> FileIdentity:
        """What the file is now; it is read once."""
        digest = file_hash(path).hex()
        rows, columns = self.count_rows(path), self.count_columns(path)
        return FileIdentity(path.name, rows, self.row_unit, columns, digest)


def file_hash(path: Path) -> bytes:
    """The SHA-256 of a file; one that has not changed is read but once."""
    about = path.stat()
    return _hash_file(path.absolute(), (about.st_ino, about.st_size, about.st_mtime_ns))


@lru_cache(maxsize=64)
def _hash_file(path: Path, state: tuple[int, ...]) -> bytes:
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").digest()


READERS: Family[Any, type[FileReader]] = Family("file format", home="seqloom.readers")


def reader_of(path: Path) -> FileReader:
    """What reads a file, by its ending; an unknown one means TSV."""
    ending = file_ending(path)
    return READERS.parts[ending if ending in READERS.parts else DEFAULT]()


def file_ending(path: Path) -> str:
    """What the name of a file says about its format."""
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]


USUAL_NAMES = {
    *("source", "target", "src", "tgt", "trg", "input", "output", "inputs", "outputs"),
    *("text", "texts", "label", "labels"),
}

MOST_LISTED = 10  # names in a sentence
LONGEST_NAME = 40


@dataclass(frozen=True)
class ColumnSelection:
    """The columns as the user named them: source and weight, where rows have them, and target.

    A source may be several columns; one of turns is the target too where rows are whole dialogs.
    """

    columns: tuple[str, ...]
    header: str
    texts: int = 2  # how many of them are not the weight
    lists: int = 0  # and how many of those, the first, may be lists of turns or of steps
    sources_alone: bool = False  # whether neither target nor weight is wanted

    @classmethod
    def of(cls, config: DataConfig) -> "ColumnSelection":
        """What the configuration asks for."""
        sources = [*config.time_columns, *config.source_columns]
        targets = [] if config.turns and config.source == config.target else [config.target]
        columns = [column.strip() for column in (*sources, *targets)]
        texts = [column for column in columns if column]
        weight = [config.weight] if config.weight else []
        listed = config.turns or (config.arrays and not config.window)
        lists = sum(map(bool, columns[: len(sources)])) if listed else 0
        alone = bool(config.source and not config.target and not weight)
        return cls((*texts, *weight), config.header, len(texts), lists, alone)

    @property
    def is_single_column(self) -> bool:
        """Whether source and target are one column."""
        return self.texts > 1 and self.columns[0] == self.columns[1]

    @property
    def column_by_name(self) -> str | None:
        """A column that is asked for by its name, which takes a header; None if there is none."""
        return next((column for column in self.columns if not column.isdecimal()), None)

    def find_all(self, names: Sequence[str], place: FileLocation | str) -> tuple[int, ...]:
        """The index of each column; sources alone may stand in order, without the other columns."""
        if self.sources_alone and len(names) == len(self.columns):
            positions = [int(column) for column in self.columns if column.isdecimal()]
            if len(positions) == len(names) < max(positions):
                return tuple(range(len(names)))
        return tuple(self.find(column, names, place) for column in self.columns)

    def find(
        self, column: str, names: Sequence[str], place: FileLocation | str, *, named: bool = False
    ) -> int:
        """The index of a column, or an error that suggests the nearest name.

        A number is a position, unless `named` says that the names are a header's and one is it.
        """
        matches = [index for index, name in enumerate(names) if name == column]
        if column.isdecimal() and not (named and matches):
            if 1 <= int(column) <= len(names):
                return int(column) - 1
            held = f"{len(names)} column" + "s" * (len(names) != 1)
            problem = f"there is no column {column} among {held}"
            raise DataError(problem, place=place, remedy=_cure(names))
        if len(matches) == 1:
            return matches[0]
        if matches:
            positions = " and ".join(str(index + 1) for index in matches)
            cure = "rename one" if named else "rename one or ask by position"
            problem = f"columns {positions} are both named {column!r}"
            raise DataError(problem, place=place, remedy=cure)
        remedy = _nearest(column, names)
        raise DataError(f"there is no column {column!r}", place=place, remedy=remedy)


@dataclass(frozen=True)
class Header:
    """How many columns a table has and which of them are wanted; `names` says line 1 is no row."""

    columns: tuple[int, ...]
    width: int
    names: bool

    @classmethod
    def from_first_line(
        cls, wanted: ColumnSelection, cells: list[str], place: FileLocation
    ) -> "Header":
        """Settle columns and header from the first line."""
        cells = [cell.strip() for cell in cells]
        if wanted.column_by_name is not None and wanted.header == "no":
            cure = "ask by position or set data.header to yes"
            raise DataError(
                f"column {wanted.column_by_name!r} needs a header", place=place, remedy=cure
            )
        columns = wanted.find_all(cells, place)
        usual = {cells[column].lower() for column in columns[: wanted.texts]} <= USUAL_NAMES
        header = usual or wanted.column_by_name is not None
        return cls(
            columns, len(cells), wanted.header == "yes" or (wanted.header == "auto" and header)
        )


def _nearest(column: str, names: Sequence[str]) -> str:
    """The name that was meant, else all of them; of a first line that is none, no cell is told."""
    near = difflib.get_close_matches(column, names, n=1)
    if not all(map(_may_be_name, names)):
        return "the first line holds no names of columns: ask by position, or put a header first"
    if near:
        return f"did you mean {near[0]!r}?"
    more = ", ..." * (len(names) > MOST_LISTED)
    return f"the columns are {', '.join(map(repr, names[:MOST_LISTED]))}{more}"


def _may_be_name(cell: str) -> bool:
    """Whether a cell could be the name of a column, rather than a sentence, a number or nothing."""
    words = cell.split()
    return 1 <= len(words) <= 3 and len(cell) <= LONGEST_NAME and any(map(str.isalpha, cell))


def _cure(names: Sequence[str]) -> str:
    cures = {
        "\t": "it holds tabs, so name the file .tsv",
        ",": "it holds commas, so name the file .csv",
        ";": "its columns seem to be set apart by semicolons, so put tabs in their place and name "
        "the file .tsv",
        "  ": "its columns seem to be set apart by several spaces, so put one tab in their place",
    }
    fitting = [
        cure for separator, cure in cures.items() if len(names) == 1 and separator in names[0]
    ]
    if len(names) == 1 and not fitting:
        return (
            "put a tab, or a comma in a .csv file, between source and target, or give two files "
            "as source.txt,target.txt"
        )
    return fitting[0] if fitting else "positions count from 1"
