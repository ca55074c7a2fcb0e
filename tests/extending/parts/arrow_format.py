"""A file format: `source -> target`, one row a line, in files that end in .arrows."""

from collections.abc import Iterator
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.readers import (
    READERS,
    Fault,
    FileReader,
    Record,
    map_lines,
    select_cells,
    text_lines,
)


@READERS.part("arrows")
class ArrowReader(FileReader):
    """Reads files of arrows."""

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """The wanted cells of each line, or what is wrong with it."""
        lines = text_lines(path, max_line=config.max_line)
        cells = map_lines(lines, str(path), lambda line, place: Record(place, line.split(" -> ")))
        return select_cells(cells, config, cure="write source -> target")
