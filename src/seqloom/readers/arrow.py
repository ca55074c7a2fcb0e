"""Arrow: tables and columns of pandas, polars, pyarrow and any library with an Arrow stream.

Values are read without a copy, converted to Python values one batch of rows at a time.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

from seqloom.errors import DataError
from seqloom.readers.lines import Fault, FileLocation, Reason
from seqloom.readers.reader import ColumnSelection, Record
from seqloom.readers.structured import text_record

__all__ = [
    "BATCH",
    "ArrowStream",
    "batch_records",
    "column_values",
    "is_text",
    "require_columns",
]

BATCH = 1_024  # rows at a time as Python values


@runtime_checkable
class ArrowStream(Protocol):
    """A table or a column of any library, as the Arrow PyCapsule interface has it."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table or column as a stream of Arrow arrays."""
        ...


def batch_records(
    batches: Iterable[Any], indices: tuple[int, ...], file: str, wanted: ColumnSelection
) -> Iterator[Record | Fault]:
    """The rows of batches that hold the columns of these indices alone, in the table's order."""
    held = sorted(set(indices))
    places, number = [held.index(index) for index in indices], 0
    for batch in batches:
        labels = [batch.schema.names[place] for place in places]
        cells = [batch.column(place) for place in places]
        columns = list(map(column_values, cells))
        is_plain = all(is_text(each.type) and not each.null_count for each in cells)
        for values in zip(*columns, strict=True):
            number += 1
            place = FileLocation(file, number)
            if any(isinstance(value, bytes) for value in values):
                problem = "a text of the row is not UTF-8"
                yield Fault(Reason.ENCODING, place, problem, "write it again as a string")
            elif is_plain:  # nothing to convert, as in most tables
                yield Record(place, list(values))
            else:
                yield text_record(place, labels, list(values), wanted)


def require_columns(
    schema: Any, indices: tuple[int, ...], file: str, wanted: ColumnSelection
) -> None:
    """DataError unless columns hold text or numbers, or lists of them; a weight is a number."""
    from pyarrow import types  # type: ignore[import-untyped]

    for place, index in enumerate(indices):
        column, number = schema.field(index), place >= wanted.texts
        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        if listed and not number:
            kind = kind.value_type
        numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        if not (is_text(kind) or numeric):
            held = f"column {column.name!r} holds {column.type}"
            lacks = "no number" if number else "neither text nor numbers"
            cure = f"choose a column of {'numbers' if number else 'text'}"
            raise DataError(f"{held}, {lacks}", place=file, remedy=cure)


def column_values(column: Any) -> list[Any]:
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


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is one of its three for text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
