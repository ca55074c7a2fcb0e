"""JSONL and Parquet: rows whose cells are typed and may have names."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seqloom.data.columns import ColumnSelection
from seqloom.data.readers.delimited import Record
from seqloom.data.report import Fault, FileLocation, Reason
from seqloom.errors import DataError

__all__ = ["cell_text", "json_records", "number_text", "parquet_records", "turns_text"]

BATCH = 1_024
JSON_KINDS = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}


def json_records(
    lines: Iterable[str | Fault], wanted: ColumnSelection, file: str
) -> Iterator[Record | Fault]:
    """The wanted values of each line, an object or an array; positions in an object are those of
    the first line's keys."""
    keys: _ValuePicker | None = None
    for number, line in enumerate(lines, 1):
        place = FileLocation(file, number)
        value = line if isinstance(line, Fault) else _parse(line, place)
        if isinstance(value, Fault):
            yield value
            continue
        keys = keys or _ValuePicker(value, wanted, place)
        yield keys.pick(value, place)


def parquet_records(path: Path, wanted: ColumnSelection) -> Iterator[Record | Fault]:
    """The wanted columns of a Parquet file, a batch of rows in memory at a time."""
    from pyarrow import ArrowException, parquet  # type: ignore[import-untyped]

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
        raise DataError(f"{path}: is not a whole Parquet file ({cause}); write it again") from None


class _ValuePicker:
    """How to find the values, settled by the first row."""

    def __init__(
        self, first: dict[str, Any] | list[Any], wanted: ColumnSelection, place: FileLocation
    ) -> None:
        self.width = len(first)
        self.wanted = wanted
        self.kind = type(first)
        names = list(first) if isinstance(first, dict) else [""] * len(first)
        if isinstance(first, list) and wanted.column_by_name is not None:
            raise DataError(f"{place}: is an array, whose columns have no names; ask by position")
        self.indices = wanted.find_all(names, place)
        self.names = [names[index] for index in self.indices]

    def pick(self, row: dict[str, Any] | list[Any], place: FileLocation) -> Record | Fault:
        """The values of a row, or what is wrong with it."""
        if type(row) is not self.kind:
            message = f"is {JSON_KINDS[type(row)]} where the first row is {JSON_KINDS[self.kind]}"
            return Fault(Reason.JSON, place, f"{message}; write all rows alike")
        if isinstance(row, dict):
            lacking = [name for name in self.names if name not in row]
            if lacking:
                message = f"there is no column {lacking[0]!r}; add it"
                return Fault(Reason.MISSING, place, message)
            return _cells(place, self.names, [row[name] for name in self.names], self.wanted)
        if len(row) != self.width:
            message = f"expected {self.width} columns, found {len(row)}; write all rows alike"
            return Fault(Reason.COLUMNS, place, message)
        labels = [str(index + 1) for index in self.indices]
        return _cells(place, labels, [row[index] for index in self.indices], self.wanted)


def _cells(
    place: FileLocation, labels: list[str], values: list[Any], wanted: ColumnSelection
) -> Record | Fault:
    """Every value as the text that a TSV file would have in its place; the weight comes last."""
    lists, texts = wanted.lists, wanted.texts
    values = [*map(turns_text, values[:lists]), *values[lists:]]
    for label, value in zip(labels[:texts], values[:texts], strict=True):
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, dict | list | bool | None) for part in parts):
            kind = JSON_KINDS[type(value)]
            message = f"column {label!r} holds {kind}, neither text nor numbers; put it in quotes"
            return Fault(Reason.TYPE, place, message)
    return Record(place, [*map(cell_text, values[:texts]), *map(number_text, values[texts:])])


def cell_text(value: object) -> str:
    """Text as it is; a number, or a list of numbers or symbols, as text."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def turns_text(value: object) -> object:
    """A list of turns as JSON, which is text; anything else as it is."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def number_text(value: object) -> str:
    """A number as text; what is missing is empty, and whatever is no number still is none."""
    return "" if value is None else str(value)


def _parse(line: str, place: FileLocation) -> dict[str, Any] | list[Any] | Fault:
    if not line.strip():
        return Fault(Reason.BLANK, place, "the line is blank; remove it")
    try:
        value = json.loads(line, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        message = f"is not valid JSON at character {error.pos + 1}"
        return Fault(Reason.JSON, place, f"{message}; write one object or array a line")
    except (ValueError, RecursionError) as error:
        cause = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Fault(Reason.JSON, place, f"is not usable JSON: {cause}; mend it")
    if isinstance(value, dict | list):
        return value
    kind = JSON_KINDS.get(type(value), "a string" if isinstance(value, str) else "a number")
    message = f"is {kind}, not a row; write one object or array a line"
    return Fault(Reason.JSON, place, message)


def _unique_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(items)
    if len(row) != len(items):
        raise ValueError("a name appears twice in one object")
    return row


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
            f"{path}: column {column.name!r} holds {column.type}, {wanted}; "
            f"choose a column of {cure}"
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
                message = "a text of the row is not UTF-8; write it again as a string"
                yield Fault(Reason.ENCODING, place, message)
            else:
                yield _cells(place, names, list(values), wanted)


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
