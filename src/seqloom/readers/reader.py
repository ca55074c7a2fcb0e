"""The interface of readers of rows: one class per format, chosen by the file's ending.

To add a format, derive from `FileReader` and register the class under its ending. Columns are
chosen by name, or by position from 1.
"""

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from seqloom.config import DataConfig
from seqloom.errors import DataError
from seqloom.readers.blocks import count_lines
from seqloom.readers.lines import Fault, FileLocation, bytes_read
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
CHUNK = 1 << 20  # bytes that are hashed at a time


class Record(NamedTuple):
    """The cells of one row and the place where it starts."""

    place: FileLocation
    cells: list[str]


class BlockParser(Protocol):
    """Parses any block of a file, once the first records have determined the columns."""

    @property
    def is_ready(self) -> bool:
        """Whether blocks can be parsed independently from now on."""

    def records(self, lines: Iterator[str | Fault], first: int) -> Iterator[Record | Fault]:
        """The wanted cells of consecutive lines; `first` is the number of the first."""

    def clean_cells(self, lines: list[str]) -> list[list[str]] | None:
        """The wanted cells of sound lines, column by column; None unless each line is a row."""

    def check_rows(self) -> None:
        """DataError where nothing but a header was read."""


HASH_DIGITS = 8  # digits of a hash in messages


@dataclass(frozen=True)
class FileIdentity:
    """One file of a data set, or the rows in memory."""

    name: str
    rows: int
    unit: str = "rows"  # the counted unit: rows, or lines of text
    columns: int = 0  # 0 if the format has none
    sha256: str = ""

    def differences(self, before: "FileIdentity") -> Iterator[str]:
        """The differences from an earlier state, as text."""
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

    has_tags: ClassVar[bool] = False  # whether each line is a word with its tags
    is_plain_text: ClassVar[bool] = False  # whether the lines can form one stream
    names_columns: ClassVar[bool] = False  # whether the first record of `preview` is the header
    row_unit: ClassVar[str] = "lines"  # what `count_rows` counts

    @abstractmethod
    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """Yield the wanted cells of each row, or its fault."""

    def block_parser(self, path: Path, config: DataConfig) -> BlockParser | None:
        """A parser of independent blocks of lines; None if rows depend on earlier ones."""
        return None

    def preview(self, path: Path) -> Iterator[Record | Fault]:
        """Yield records with all cells; none if the format is not a table."""
        return iter(())

    def note(self, path: Path) -> str:
        """A note for users on how the file is read; empty by default."""
        return ""

    def count_rows(self, path: Path) -> int:
        """How long the file is."""
        return count_lines(path)

    def share_read(self, path: Path, rows: int) -> float:
        """How much of a file was read, of which these rows have come; 0 where that is not known."""
        return min(1.0, bytes_read(path) / max(1, path.stat().st_size))

    def count_columns(self, path: Path) -> int:
        """The number of columns of the first row; 0 if there are none or it cannot be read."""
        try:
            first = next(self.preview(path), None)
        except DataError:
            return 0
        return len(first.cells) if isinstance(first, Record) else 0

    def identify(self, path: Path) -> FileIdentity:
        """The identity of the file in its current state; reads it once."""
        digest = file_hash(path).hex()
        rows, columns = self.count_rows(path), self.count_columns(path)
        return FileIdentity(path.name, rows, self.row_unit, columns, digest)


_hashes: dict[tuple[Path, int, int, int], bytes] = {}  # of files in a certain state


def file_hash(path: Path, tell: Callable[[int], None] = lambda count: None) -> bytes:
    """The SHA-256 of a file, cached while the file is unchanged; `tell` receives the number of
    bytes read so far."""
    about = path.stat()
    state = path.absolute(), about.st_ino, about.st_size, about.st_mtime_ns
    if state not in _hashes:
        digest = sha256()
        with path.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
                tell(stream.tell())
        _hashes[state] = digest.digest()
    return _hashes[state]


READERS: Family[Any, type[FileReader]] = Family("file format", home="seqloom.readers")


def reader_of(path: Path) -> FileReader:
    """The reader of a file by its ending; TSV for unknown endings."""
    ending = file_ending(path)
    return READERS.parts[ending if ending in READERS.parts else DEFAULT]()


def file_ending(path: Path) -> str:
    """The ending of a file name, without `.gz`."""
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]


USUAL_NAMES = {
    *("source", "target", "src", "tgt", "trg", "input", "output", "inputs", "outputs"),
    *("text", "texts", "label", "labels"),
}

MOST_LISTED = 10  # names in a sentence
LONGEST_NAME = 40


@dataclass(frozen=True)
class ColumnSelection:
    """The columns named by the user: source, target and weight.

    A source may be several columns; a column of dialogs is source and target.
    """

    columns: tuple[str, ...]
    header: str
    texts: int = 2  # number of columns without the weight
    lists: int = 0  # how many of the first may be lists of turns or of steps
    sources_alone: bool = False  # whether only the source is wanted

    @classmethod
    def of(cls, config: DataConfig) -> "ColumnSelection":
        """The columns of a configuration."""
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
        """A column given by name, which requires a header; None if there is none."""
        return next((column for column in self.columns if not column.isdecimal()), None)

    def find_all(self, names: Sequence[str], place: FileLocation | str) -> tuple[int, ...]:
        """The index of each column; a table of sources alone may have them in order."""
        if self.sources_alone and len(names) == len(self.columns):
            positions = [int(column) for column in self.columns if column.isdecimal()]
            if len(positions) == len(names) < max(positions):
                return tuple(range(len(names)))
        return tuple(self.find(column, names, place) for column in self.columns)

    def find(
        self, column: str, names: Sequence[str], place: FileLocation | str, *, named: bool = False
    ) -> int:
        """The index of a column; DataError suggests the nearest name.

        A number is a position, unless it is a name in a header (`named`).
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
    """The number of columns of a table and the wanted ones; with `names`, line 1 is a header."""

    columns: tuple[int, ...]
    width: int
    names: bool

    @classmethod
    def from_first_line(
        cls, wanted: ColumnSelection, cells: list[str], place: FileLocation
    ) -> "Header":
        """Determine columns and header from the first line."""
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
