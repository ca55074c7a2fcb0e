"""Rows with typed cells: converts values to the text of a TSV file."""

import json
from typing import Any

from seqloom.errors import DataError
from seqloom.readers.lines import Fault, FileLocation, Reason
from seqloom.readers.reader import ColumnSelection, Record

__all__ = [
    "VALUE_KINDS",
    "JsonRow",
    "RowPicker",
    "cell_text",
    "list_text",
    "number_text",
    "plain_list",
    "text_record",
]

JsonRow = dict[str, Any] | list[Any]

VALUE_KINDS = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}


def text_record(
    place: FileLocation, labels: list[str], values: list[Any], wanted: ColumnSelection
) -> Record | Fault:
    """Every value as the text that a TSV file would have in its place; the weight comes last."""
    lists, texts = wanted.lists, wanted.texts
    values = [*map(list_text, values[:lists]), *values[lists:]]
    for label, value in zip(labels[:texts], values[:texts], strict=True):
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, dict | list | bool | None) for part in parts):
            kind = VALUE_KINDS[type(value)]
            problem = f"column {label!r} holds {kind}, neither text nor numbers"
            cure = "fill it in, or remove the row" if value is None else "put it in quotes"
            return Fault(Reason.TYPE, place, problem, cure)
    return Record(place, [*map(cell_text, values[:texts]), *map(number_text, values[texts:])])


def cell_text(value: object) -> str:
    """Text as it is; a number, or a list of numbers or symbols, as text."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def list_text(value: object) -> object:
    """A list of turns or an array as JSON, which is text; anything else as it is."""
    listed = plain_list(value)
    if not isinstance(listed, list):
        return value
    return json.dumps(listed, ensure_ascii=False, default=_plain_value)


def plain_list(value: object) -> object:
    """The lists of an array (NumPy, PyTorch); anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def _plain_value(value: object) -> object:
    """The JSON value of an array or of another object in a list."""
    return plain_list(value) if hasattr(value, "tolist") else str(value)


def number_text(value: object) -> str:
    """A number as text; what is missing is empty, and whatever is no number still is none."""
    return "" if value is None else str(value)


class RowPicker:
    """Picks the wanted values of objects or arrays; the first row determines where they are.

    Positions in an object are those of the first row's keys.
    """

    def __init__(self, wanted: ColumnSelection) -> None:
        self.wanted = wanted
        self.width = 0
        self.kind: type[JsonRow] | None = None
        self.indices: tuple[int, ...] = ()
        self.names: list[str] = []

    def pick(self, found: tuple[JsonRow, FileLocation]) -> Record | Fault:
        """The values of a row, or its fault."""
        row, place = found
        if self.kind is None:
            self._settle(row, place)
        elif type(row) is not self.kind:
            message = f"is {VALUE_KINDS[type(row)]} where the first row is {VALUE_KINDS[self.kind]}"
            return Fault(Reason.JSON, place, message, "write all rows alike")
        if isinstance(row, dict):
            lacking = [name for name in self.names if name not in row]
            if lacking:
                problem = f"there is no column {lacking[0]!r}"
                return Fault(Reason.MISSING, place, problem, "add it")
            return text_record(place, self.names, [row[name] for name in self.names], self.wanted)
        if len(row) != self.width:
            problem = f"expected {self.width} columns, found {len(row)}"
            return Fault(Reason.COLUMNS, place, problem, "write all rows alike")
        labels = [str(index + 1) for index in self.indices]
        return text_record(place, labels, [row[index] for index in self.indices], self.wanted)

    def _settle(self, first: JsonRow, place: FileLocation) -> None:
        names = list(first) if isinstance(first, dict) else [""] * len(first)
        if isinstance(first, list) and self.wanted.column_by_name is not None:
            nested = any(isinstance(each, dict | list) for each in first)
            cure = "write one object a line, for example with jq -c '.[]'"
            raise DataError(
                "is an array, whose columns have no names",
                place=place,
                remedy=cure if nested else "ask by position",
            )
        self.indices = self.wanted.find_all(names, place)
        self.names = [names[index] for index in self.indices]
        self.width, self.kind = len(first), type(first)
