"""TSV: a tab always parts two cells. There is no quoting, since sentences hold quotes."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.data.readers.delimited import row_record, select_cells
from seqloom.data.readers.lines import LONGEST_LINE, text_lines
from seqloom.data.readers.reader import READERS, FileReader, Record
from seqloom.data.report import Fault, map_lines

__all__ = ["TsvReader", "tsv_records"]


@READERS.part("tsv")
class TsvReader(FileReader):
    """Reads TSV files."""

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """The wanted cells of each line."""
        records = tsv_records(text_lines(path, max_line=config.max_line), str(path))
        return select_cells(records, config, cure="write tabs inside a text as spaces")

    def preview(self, path: Path) -> Iterator[Record | Fault]:
        """All cells of each line."""
        return tsv_records(text_lines(path, max_line=LONGEST_LINE), str(path))


def tsv_records(lines: Iterable[str | Fault], file: str) -> Iterator[Record | Fault]:
    """One record for each line."""
    return map_lines(lines, file, lambda line, place: row_record(place, line.split("\t")))
