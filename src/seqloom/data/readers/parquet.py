"""Parquet: columns with names and types, a batch of rows in memory at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from seqloom.config import DataConfig
from seqloom.data.columns import ColumnSelection
from seqloom.data.readers.reader import READERS, FileReader, Record
from seqloom.data.readers.structured import text_record
from seqloom.data.report import Fault, FileLocation, Reason
from seqloom.errors import DataError

__all__ = ["ParquetReader", "parquet_records"]

BATCH = 1_024


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
            for place, index in enumerate(indices):
                _require(table.schema_arrow.field(index), path, number=place >= wanted.texts)
            chosen = [names[index] for index in indices]
            yield from _parquet_rows(table, chosen, str(path), wanted)
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


def _require(column: Any, path: Path, *, number: bool) -> None:
    """DataError unless the column holds text or numbers, or lists of them unless it is `number`."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if listed and not number:
        kind = kind.value_type
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (text or numeric):
        wanted, cure = ("no number", "numbers") if number else ("neither text nor numbers", "text")
        raise DataError(
            f"column {column.name!r} holds {column.type}, {wanted}",
            place=path,
            remedy=f"choose a column of {cure}",
        )


def _parquet_rows(
    table: Any, names: list[str], file: str, wanted: ColumnSelection
) -> Iterator[Record | Fault]:
    number = 0
    for batch in table.iter_batches(batch_size=BATCH, columns=sorted(set(names))):
        columns = [_values(batch.column(batch.schema.get_field_index(name))) for name in names]
        for values in zip(*columns, strict=True):
            number += 1
            place = FileLocation(file, number)
            if any(isinstance(value, bytes) for value in values):
                problem = "a text of the row is not UTF-8"
                yield Fault(Reason.ENCODING, place, problem, "write it again as a string")
            else:
                yield text_record(place, names, list(values), wanted)


def _values(column: Any) -> list[Any]:
    """The cells of a column; one that is not UTF-8 stays bytes."""
    from pyarrow import binary

    try:
        values: list[Any] = column.to_pylist()
        return values
    except UnicodeDecodeError:
        return [_text_or_bytes(cell) for cell in column.cast(binary()).to_pylist()]


def _text_or_bytes(cell: bytes | None) -> str | bytes | None:
    try:
        return cell if cell is None else cell.decode("utf-8")
    except UnicodeDecodeError:
        return cell
