"""Rows whose cells are typed: every value as the text that a TSV file would have in its place."""

import json
from typing import Any

from seqloom.data.columns import ColumnSelection
from seqloom.data.readers.reader import Record
from seqloom.data.report import Fault, FileLocation, Reason

__all__ = ["VALUE_KINDS", "cell_text", "number_text", "text_record", "turns_text"]

VALUE_KINDS = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}


def text_record(
    place: FileLocation, labels: list[str], values: list[Any], wanted: ColumnSelection
) -> Record | Fault:
    """Every value as the text that a TSV file would have in its place; the weight comes last."""
    lists, texts = wanted.lists, wanted.texts
    values = [*map(turns_text, values[:lists]), *values[lists:]]
    for label, value in zip(labels[:texts], values[:texts], strict=True):
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, dict | list | bool | None) for part in parts):
            kind = VALUE_KINDS[type(value)]
            problem = f"column {label!r} holds {kind}, neither text nor numbers"
            return Fault(Reason.TYPE, place, problem, "put it in quotes")
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
