"""Parquet: columns with names and types, a batch of rows in memory at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from seqloom.config import DataConfig
from seqloom.errors import DataError
from seqloom.readers.arrow import BATCH, batch_records, require_columns
from seqloom.readers.lines import Fault, FileLocation
from seqloom.readers.reader import READERS, ColumnSelection, FileReader, Record

__all__ = ["ParquetReader", "parquet_records"]


@READERS.part("parquet")
class ParquetReader(FileReader):
    """Reads Parquet files."""

    row_unit: ClassVar[str] = "rows"

    names_columns: ClassVar[bool] = True

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """The wanted columns of each row."""
        return parquet_records(path, ColumnSelection.of(config))

    def count_rows(self, path: Path) -> int:
        """How many rows the table has."""
        return _metadata(path, "num_rows")

    def share_read(self, path: Path, rows: int) -> float:
        """How many of its rows have come."""
        return min(1.0, rows / max(1, self.count_rows(path)))

    def preview(self, path: Path) -> Iterator[Record | Fault]:
        """The names of the columns."""
        from pyarrow import ArrowException, parquet  # type: ignore[import-untyped]

        try:
            names = parquet.read_schema(path).names
        except (ArrowException, OSError):
            return
        yield Record(FileLocation(str(path), 1), list(names))


def parquet_records(path: Path, wanted: ColumnSelection) -> Iterator[Record | Fault]:
    """The wanted columns of a Parquet file, a batch of rows in memory at a time."""
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as table:
            names = table.schema_arrow.names
            indices = wanted.find_all(names, str(path))
            require_columns(table.schema_arrow, indices, str(path), wanted)
            chosen = [names[index] for index in sorted(set(indices))]
            batches = table.iter_batches(batch_size=BATCH, columns=chosen)
            yield from batch_records(batches, indices, str(path), wanted)
    except (ArrowException, OSError) as error:
        cause = str(error).splitlines()[0].rstrip(".")
        raise DataError(
            f"is not a whole Parquet file ({cause})", place=path, remedy="write it again"
        ) from None


def _metadata(path: Path, name: str) -> int:
    """A number that a file tells of itself; 0 where it cannot be read."""
    from pyarrow import ArrowException, parquet

    try:
        return int(getattr(parquet.read_metadata(path), name))
    except (ArrowException, OSError):
        return 0
