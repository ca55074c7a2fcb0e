"""Plain text: a row per line, or a table with tabs if two columns are wanted."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from seqloom.config import DataConfig
from seqloom.readers.delimited import TsvReader
from seqloom.readers.lines import Fault, FileLocation, expand_lines, text_lines
from seqloom.readers.reader import READERS, BlockParser, ColumnSelection, FileReader, Record

__all__ = ["TextReader"]


@READERS.part("txt")
class TextReader(FileReader):
    """Reads plain text files."""

    is_plain_text: ClassVar[bool] = True

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """Each line as a target, and as its source if one is wanted; blank ones only part what
        stands between them."""
        wanted = ColumnSelection.of(config)
        if config.source and not wanted.is_single_column:
            return TsvReader().records(path, config)

        def record(line: str, place: FileLocation) -> list[Record | Fault]:
            return [Record(place, [line] * wanted.texts)] if line.strip() else []

        return expand_lines(text_lines(path, max_line=config.max_line), str(path), record)

    def block_parser(self, path: Path, config: DataConfig) -> BlockParser | None:
        """A parser of blocks of a table with tabs."""
        wanted = ColumnSelection.of(config)
        if config.source and not wanted.is_single_column:
            return TsvReader().block_parser(path, config)
        return None
