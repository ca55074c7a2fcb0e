"""Rows in memory: tuples, texts, objects with names, tables, sources with targets."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from seqloom.errors import ConfigError, DataError
from seqloom.readers.arrow import (
    BATCH,
    ArrowStream,
    batch_records,
    column_values,
    is_text,
    require_columns,
)
from seqloom.readers.lines import Fault, FileLocation, Reason
from seqloom.readers.reader import ColumnSelection, Record
from seqloom.readers.structured import (
    RowPicker,
    cell_text,
    list_text,
    number_text,
    plain_list,
)
from seqloom.remedies import Remedy, Setting

__all__ = [
    "ArrowTable",
    "Data",
    "DataLike",
    "as_data",
    "describe_rows",
    "has_names",
    "in_memory",
    "join_targets",
    "memory_records",
    "row_bytes",
    "text_records",
]

IN_MEMORY = "<pairs>"
IN_TABLE = "<table>"
HASHED = 65_536  # rows per hash update, independent of a table's chunks

Cell = str | float | Sequence[float] | Sequence[str] | Sequence[Sequence[float]] | NDArray[Any]


@dataclass(frozen=True, eq=False)
class ArrowTable:
    """A table in memory with named columns, readable repeatedly."""

    table: Any  # pyarrow.Table

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> "ArrowTable":
        """Build a table from lists of values by column name."""
        import pyarrow  # type: ignore[import-untyped]

        try:
            return cls(pyarrow.table(dict(columns)))
        except (pyarrow.ArrowException, TypeError, ValueError, AttributeError) as error:
            cause = str(error).splitlines()[0].rstrip(".")
            raise DataError(
                f"a mapping is read as columns by name, and this one is none ({cause})",
                place=IN_TABLE,
                remedy="give lists of one length; of several splits, give one",
            ) from None

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self.table.column_names)

    def with_column(self, name: str, values: list[Any]) -> "ArrowTable":
        """The table with one more column."""
        return ArrowTable(self.table.append_column(name, [values]))

    def records(self, wanted: ColumnSelection) -> Iterator[Record | Fault]:
        """The wanted columns of each row."""
        indices = wanted.find_all(self.names, IN_TABLE)
        require_columns(self.table.schema, indices, IN_TABLE, wanted)
        chosen = self.table.select(sorted(set(indices)))
        return batch_records(chosen.to_batches(BATCH), indices, IN_TABLE, wanted)

    def text_records(self) -> Iterator[Record | Fault]:
        """The column names, then every cell as text; a missing one is empty."""
        yield Record(FileLocation(IN_TABLE, 0), self.names)
        number = 0
        for batch in self.table.to_batches(BATCH):
            for values in zip(*map(column_values, batch.columns), strict=True):
                number += 1
                yield Record(FileLocation(IN_TABLE, number), list(map(_text, values)))

    def content_bytes(self) -> Iterator[bytes]:
        """The table's content for hashing, independent of the library."""
        yield repr(self.names).encode("utf-8", "surrogatepass")
        for start in range(0, len(self), HASHED):
            part = self.table.slice(start, HASHED).combine_chunks()
            for column in part.columns:
                yield from map(_serialize, _plain_column(column).chunks)


Data = str | Path | Sequence[Sequence[Cell] | Mapping[str, Any]] | ArrowTable
"""`pairs.tsv`, or two parallel files as `train.de,train.en`, or rows in memory."""
DataLike = Data | Iterable[Any] | ArrowStream
"""What a user may give as data: whatever gives rows, and tables of other libraries, too."""


def as_data(given: DataLike) -> Data:
    """User data in a form that can be read repeatedly.

    Tables of pandas, polars, pyarrow and others are read in place; a mapping is columns by name; an
    iterator is converted to a list.
    """
    if isinstance(given, str | Path | list | ArrowTable):
        return given
    if isinstance(given, ArrowStream):
        return _read_arrow(given)
    if isinstance(given, Mapping):
        return ArrowTable.of_columns(given)
    if hasattr(given, "dtype") and hasattr(given, "tolist"):  # a numpy array
        return _array_rows(given)
    if hasattr(given, "__len__") and hasattr(given, "__getitem__"):
        return given  # type: ignore[return-value]  # rows that another library holds
    try:
        return list(given)
    except TypeError:
        raise ConfigError(
            f"{type(given).__name__} is no data",
            remedy="give the path of a file, a list of rows, or a table",
        ) from None


def join_targets(given: DataLike, targets: DataLike, name: str) -> Data:
    """Combine sources and separate targets into rows; in a table the target's column is `name`."""
    sources, column = as_data(given), as_data(targets)
    if isinstance(sources, str | Path) or isinstance(column, str | Path):
        raise ConfigError(
            "targets that lie apart go with sources in memory",
            remedy=Remedy("of a file, name the column: {}", Setting("target", "COL")),
        )
    values = _only_column(column)
    if len(sources) != len(values):
        raise DataError(
            f"there are {len(sources):,} sources and {len(values):,} targets",
            remedy="give one target for each source",
        )
    if isinstance(sources, ArrowTable):
        return sources.with_column(name, values)
    return [_with_target(row, value, name) for row, value in zip(sources, values, strict=True)]


def memory_records(data: Data, wanted: ColumnSelection) -> Iterator[Record | Fault]:
    """The wanted columns of each row: by name in tables and objects, by position in tuples."""
    if isinstance(data, ArrowTable):
        yield from data.records(wanted)
    if isinstance(data, ArrowTable | str | Path):
        return
    picker, form = RowPicker(wanted), _form(wanted)
    for number, row in enumerate(data, 1):
        place = FileLocation(IN_MEMORY, number)
        if isinstance(row, Mapping):
            yield picker.pick(({name: _plain(row[name]) for name in row}, place))
        else:
            cells = _tuple_cells(row, wanted)
            yield (
                Fault(Reason.TYPE, place, "is not a row of texts or numbers", f"give {form}")
                if cells is None
                else Record(place, cells)
            )


def has_names(data: Data) -> bool:
    """Whether rows in memory have column names."""
    if isinstance(data, ArrowTable | str | Path):
        return isinstance(data, ArrowTable)
    return bool(len(data)) and isinstance(data[0], Mapping)


def row_bytes(data: Data) -> Iterator[bytes]:
    """The content of rows in memory for hashing; empty for files."""
    if isinstance(data, ArrowTable):
        yield from data.content_bytes()
    elif not isinstance(data, str | Path):
        for row in data:
            yield repr(_without_arrays(row)).encode("utf-8", "surrogatepass")


def _without_arrays(row: Any) -> Any:
    """A row with its arrays as lists, since the text of an array is abbreviated."""
    if isinstance(row, Mapping):
        return {name: plain_list(cell) for name, cell in row.items()}
    if isinstance(row, tuple | list):
        plain = list(map(plain_list, row))
        return tuple(plain) if isinstance(row, tuple) else plain
    return plain_list(row)


def text_records(data: Data) -> Iterator[Record | Fault]:
    """Every cell as text, empty if missing; column names come first if there are any.

    Unnamed rows in memory may start with a row of names, as in a file.
    """
    if isinstance(data, ArrowTable):
        yield from data.text_records()
    elif not isinstance(data, str | Path):
        names: list[str] = []
        for number, row in enumerate(data, 1):
            if isinstance(row, Mapping) and not names:
                names = list(row)
                yield Record(FileLocation(IN_MEMORY, 0), names)
            cells = [row.get(name) for name in names] if isinstance(row, Mapping) else list(row)
            yield Record(FileLocation(IN_MEMORY, number), list(map(_text, cells)))


def describe_rows(data: Data) -> str:
    """The name of in-memory data in errors."""
    return IN_TABLE if isinstance(data, ArrowTable) else IN_MEMORY


def in_memory(file: str) -> bool:
    """Whether a location is in memory rather than in a file."""
    return file in (IN_MEMORY, IN_TABLE)


def _read_arrow(given: ArrowStream) -> ArrowTable | list[Any]:
    """A table of another library, or the values of a column."""
    import pyarrow

    found = pyarrow.chunked_array(given)
    if pyarrow.types.is_struct(found.type):
        return ArrowTable(pyarrow.Table.from_struct_array(found))
    return [value for chunk in found.chunks for value in column_values(chunk)]


def _array_rows(array: Any) -> list[Any]:
    """The rows of an array: texts, tuples of columns, or lists of numbers."""
    rows: list[Any] = array.tolist()
    several = getattr(array, "ndim", 1) > 1 and array.dtype.kind in "OUST"
    return [tuple(row) for row in rows] if several else rows


def _only_column(data: Any) -> list[Any]:
    """The values of a single column."""
    if isinstance(data, ArrowTable):
        if len(data.names) != 1:
            columns = f"{len(data.names)} columns"
            raise DataError(f"the targets have {columns}", remedy="give the column of the targets")
        return list(data.table.column(0).to_pylist())
    return [row[0] if isinstance(row, tuple) and len(row) == 1 else row for row in data]


def _with_target(row: Any, value: Any, name: str) -> Any:
    if isinstance(row, Mapping):
        return {**row, name: value}
    return (*row, value) if isinstance(row, tuple) else (row, value)


def _form(wanted: ColumnSelection) -> str:
    """The expected content of a tuple."""
    names = (*("source",) * (wanted.texts - 1 - wanted.is_single_column), "target", "weight")
    return f"({', '.join(names[: _width(wanted)])})"


def _width(wanted: ColumnSelection) -> int:
    return len(wanted.columns) - wanted.is_single_column


def _tuple_cells(row: Any, wanted: ColumnSelection) -> list[str] | None:
    """The cells of a tuple or a single text; None if it does not have the columns.

    Pairs, or triples with a weight if one is expected; targets alone if there is no source. Longer
    tuples, and columns in another order, are read by position.
    """
    given = list(row) if isinstance(row, tuple | list) else [row]
    indices = _indices(wanted, len(given))
    if indices is None:
        return None
    cells = [_plain(given[index]) for index in indices]
    cells[: wanted.lists] = map(list_text, cells[: wanted.lists])
    texts, weight = cells[: wanted.texts], cells[wanted.texts :]
    if not all(map(_is_cell, texts)):
        return None
    return [*map(cell_text, texts), *map(number_text, weight)]


def _indices(wanted: ColumnSelection, width: int) -> tuple[int, ...] | None:
    """The indices of the columns in a tuple of this width; None if undetermined."""
    single = wanted.is_single_column
    in_order = (*(0,) * single, *range(_width(wanted)))
    positions = tuple(int(each) - 1 for each in wanted.columns if each.isdecimal())
    named = len(positions) < len(wanted.columns)
    if not named and positions != in_order and 0 <= min(positions) <= max(positions) < width:
        return positions
    return in_order if width == _width(wanted) else None


def _plain(value: Any) -> Any:
    """Convert a value of numpy, a tuple or a date to text, number or list; NaN is missing."""
    if isinstance(value, str | int | list | None):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, date | Decimal):
        return str(value)
    return value.tolist() if hasattr(value, "tolist") else value


def _text(cell: object) -> str:
    """A cell of a series, as in a file."""
    plain = _plain(cell)
    return plain if isinstance(plain, str) else "" if plain is None else repr(plain)


def _is_cell(value: object) -> bool:
    """Whether a value in memory is text, a number, or a list of numbers."""
    if isinstance(value, bool):
        return False
    if isinstance(value, list):
        return all(map(_is_cell, value))
    return isinstance(value, str | int | float)


def _plain_column(column: Any) -> Any:
    """A column in a canonical type, so that equal texts have equal bytes."""
    from pyarrow import large_string, types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if is_text(kind):
        return column.cast(large_string())
    return column.cast(kind) if types.is_dictionary(column.type) else column


def _serialize(array: Any) -> bytes:
    from pyarrow import record_batch

    return bytes(record_batch([array], names=["cells"]).serialize())
