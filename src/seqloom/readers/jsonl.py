"""JSONL: one object or array per line."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from seqloom.config import DataConfig
from seqloom.readers.lines import (
    LONGEST_LINE,
    Fault,
    FileLocation,
    Reason,
    map_lines,
    map_sound,
    text_lines,
)
from seqloom.readers.reader import READERS, ColumnSelection, FileReader, Record
from seqloom.readers.structured import VALUE_KINDS, JsonRow, RowPicker

__all__ = ["JsonReader", "json_records"]


@READERS.part("jsonl")
@READERS.part("ndjson")
@READERS.part("json")
class JsonReader(FileReader):
    """Reads files with one JSON value per line."""

    names_columns: ClassVar[bool] = True

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """The wanted values of each line."""
        lines = text_lines(path, max_line=config.max_line)
        return json_records(lines, ColumnSelection.of(config), str(path))

    def preview(self, path: Path) -> Iterator[Record | Fault]:
        """The keys of the first line, or the positions in an array."""
        lines = text_lines(path, max_line=LONGEST_LINE)
        return map_sound(islice(map_lines(lines, str(path), _parse), 1), _column_names)


def json_records(
    lines: Iterable[str | Fault], wanted: ColumnSelection, file: str
) -> Iterator[Record | Fault]:
    """The wanted values of each line, an object or an array; positions in an object are those of
    the first line's keys."""
    return map_sound(map_lines(lines, file, _parse), RowPicker(wanted).pick)


def _column_names(parsed: tuple[JsonRow, FileLocation]) -> Record:
    """The keys of an object, or the positions in an array."""
    row, place = parsed
    names = list(row) if isinstance(row, dict) else range(1, len(row) + 1)
    return Record(place, [str(name) for name in names])


def _parse(line: str, place: FileLocation) -> tuple[JsonRow, FileLocation] | Fault:
    if not line.strip():
        return Fault(Reason.BLANK, place, "the line is blank", "remove it")
    try:
        value = json.loads(line, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        message = f"is not valid JSON at character {error.pos + 1}"
        return Fault(Reason.JSON, place, message, "write one object or array a line")
    except (ValueError, RecursionError) as error:
        cause = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Fault(Reason.JSON, place, f"is not usable JSON: {cause}", "mend it")
    if isinstance(value, dict | list):
        return value, place
    kind = VALUE_KINDS.get(type(value), "a string" if isinstance(value, str) else "a number")
    problem = f"is {kind}, not a row"
    return Fault(Reason.JSON, place, problem, "write one object or array a line")


def _unique_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(items)
    if len(row) != len(items):
        raise ValueError("a name appears twice in one object")
    return row
