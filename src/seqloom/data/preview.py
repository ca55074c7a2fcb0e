"""The first rows of a table as written, with the columns that are read."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.data.memory_rows import Data
from seqloom.data.parts import data_files
from seqloom.errors import DataError
from seqloom.readers import reader_of
from seqloom.readers.lines import sound_items
from seqloom.readers.reader import ColumnSelection, Header

__all__ = ["Preview", "preview"]

ROWS = 200
LONGEST = 30  # characters of a column name


@dataclass(frozen=True)
class Preview:
    """The first rows of a table, whether the first is a header, and which columns are read."""

    rows: list[list[str]]
    has_header: bool
    columns: tuple[int, ...]
    is_named: bool = False  # whether the format names its columns, and no row is here
    note: str = ""  # a note on how the file is read

    @property
    def unread(self) -> list[str]:
        """The columns that are not read, by name or else by position."""
        names = self.rows[0]
        left = [place for place in range(len(names)) if place not in self.columns]
        if not self.has_header:
            return [str(place + 1) for place in left]
        return [f"{place + 1} ({names[place].strip()[:LONGEST]!r})" for place in left]


def preview(data: Data, config: DataConfig) -> Preview | None:
    """Preview a table; None for other data, or if it is unreadable."""
    if not isinstance(data, str | Path):
        return None
    try:
        (path, *others) = data_files(data)
        reader, wanted = reader_of(path), ColumnSelection.of(config)
        if others or config.lines == "stream":
            return None
        records = list(islice(sound_items(reader.preview(path)), ROWS))
        if not records:
            return None
        place, first = records[0]
        header = Header.from_first_line(wanted, first, place)
    except DataError:
        return None
    rows = [record.cells for record in records if len(record.cells) == header.width]
    named = reader.names_columns
    return Preview(rows, header.names or named, header.columns, named, reader.note(path))
