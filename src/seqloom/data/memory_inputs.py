"""Inputs in memory: texts, tuples, objects with names, tables.

They are read like a file of the same rows. A bare text is an input if the source is one column and
the text has no tab, which would separate columns in a file.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from seqloom.config import DataConfig
from seqloom.data.inputs import TAB, InputFile, positions
from seqloom.data.table import source_record
from seqloom.errors import ConfigError, DataError, InputError
from seqloom.fields import join_turns, parse_list
from seqloom.readers.arrow import BATCH, ArrowStream
from seqloom.readers.lines import Fault, FileLocation, apply_sound, resolve
from seqloom.readers.reader import ColumnSelection
from seqloom.readers.structured import plain_list, text_record

__all__ = ["MemoryInput", "input_cells", "row_cell"]

MemoryInput = str | float | Sequence[Any] | Mapping[str, Any]
"""A text or a number; a tuple of columns, or a list of turns, columns or numbers; an object with
the columns' names."""

PLACE = FileLocation("input", 1)


def input_cells(inputs: Any, config: DataConfig) -> Iterator[str]:
    """The source cell of each input: from an iterable, a file's path, or a table of columns (Arrow,
    pandas, polars); InputError at the first that is invalid.
    """
    if isinstance(inputs, str):
        raise ConfigError("predict takes a list of texts", remedy="put the text in brackets")
    if isinstance(inputs, Path):
        return InputFile(inputs, config).cells()
    if isinstance(inputs, Mapping):
        raise ConfigError("predict takes a list of inputs", remedy="put the object in brackets")
    return _cells(_arrow_rows(inputs) if isinstance(inputs, ArrowStream) else inputs, config)


def row_cell(given: MemoryInput, config: DataConfig, *, strict: bool = False) -> str:
    """The source cell of one input; DataError, without a location, if it has none.

    With `strict`, an object may have no keys other than the run's columns.
    """
    match given:
        case str():
            return _text_cell(given, config)
        case Mapping():
            return _object_cell(given, config, strict=strict)
        case tuple():
            return _row_cell(given, config)
        case None | int() | float():
            return _number_cell(given, config)
        case _:
            return _list_cell(given, config)


def _cells(rows: Iterable[Any], config: DataConfig) -> Iterator[str]:
    for number, given in enumerate(rows, 1):
        try:
            yield row_cell(given, config)
        except DataError as error:
            place = FileLocation("", number)
            raise InputError(error.problem, place=place, remedy=error.remedy) from None


def _arrow_rows(given: ArrowStream) -> Iterator[Any]:
    """The rows of another library's table, or the cells of its column, converted in batches."""
    import pyarrow  # type: ignore[import-untyped]

    try:
        batches = pyarrow.RecordBatchReader.from_stream(given)
    except pyarrow.ArrowInvalid:  # a column, whose stream is intact
        batches = pyarrow.chunked_array(given).chunks
    for batch in batches:
        for start in range(0, len(batch), BATCH):
            yield from batch.slice(start, BATCH).to_pylist()


def _text_cell(text: str, config: DataConfig) -> str:
    """A bare text, or one whose tabs separate the columns."""
    if not config.source or not text.strip():
        return text
    if config.columns:
        return _columns_text(text, config)
    if TAB in text and not config.turns:
        raise DataError(
            f"the text has a tab, which parts columns, and the run reads column {config.source}",
            remedy="give the text without it, or as a tuple of the columns",
        )
    return text


def _number_cell(value: float | None, config: DataConfig) -> str:
    """A single number; tables have None or NaN for a missing one."""
    if value is None or value != value:  # noqa: PLR0124
        raise DataError("the source is missing", remedy="fill it in, or leave it out")
    return _cell([config.source], [value], config)


def _columns_text(text: str, config: DataConfig) -> str:
    """Several columns as a text: with tabs between them, or as JSON."""
    if TAB in text:
        return _row_cell(text.removesuffix("\n").split(TAB), config)
    if (listed := parse_list(text)) is not None:
        return _row_cell(listed, config)
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return _object_cell(found, config)
    raise _wrong_width(1, config)


def _object_cell(row: Mapping[str, Any], config: DataConfig, *, strict: bool = False) -> str:
    """An object's values, by the columns' names or at their positions."""
    names = list(row)
    wanted = _sources_alone(config)
    named = [
        wanted.find(column, names, "", named=True) for column in wanted.columns if column in row
    ]
    indices = tuple(named) if len(named) == len(wanted.columns) else wanted.find_all(names, "")
    known = {*(names[index] for index in indices), config.target, config.weight}
    others = [name for name in names if name not in known]
    if strict and others:
        raise DataError(
            f"there is a column {others[0]!r}, which the run does not read",
            remedy=f"give {config.source}",
        )
    return _cell([names[index] for index in indices], [row[names[i]] for i in indices], config)


def _row_cell(row: Sequence[Any], config: DataConfig) -> str:
    """A tuple's values at the columns' positions, or the source columns in order."""
    chosen = positions(config, len(row))
    if chosen is None:
        raise _wrong_width(len(row), config)
    sources = chosen[: len(config.source_columns)]
    return _cell(config.source_columns, [row[index] for index in sources], config)


def _list_cell(given: Sequence[Any], config: DataConfig) -> str:
    """A list of turns, of columns, of steps, or of the numbers of a vector."""
    if config.turns and all(isinstance(each, str) for each in given):
        return join_turns(given)
    if config.turns or config.arrays:
        return _cell([config.source], [plain_list(given)], config)
    if config.columns:
        return _row_cell(list(given), config)
    if all(isinstance(each, int | float) for each in given):
        return _cell([config.source], [list(given)], config)
    raise DataError(
        f"a list is given, and the run reads column {config.source}",
        remedy="give a text, a tuple of columns, or an object with their names",
    )


def _cell(labels: list[str], values: list[Any], config: DataConfig) -> str:
    """Values of any type as the cell of an equivalent file."""
    record = text_record(PLACE, labels, values, _sources_alone(config))
    found = apply_sound(record, partial(source_record, config=config))
    return resolve(found, lambda sound: sound.cells[0], _refuse)


def _refuse(fault: Fault) -> NoReturn:
    raise DataError(fault.problem, remedy=fault.remedy)


def _sources_alone(config: DataConfig) -> ColumnSelection:
    """The source columns; an input in memory is a whole window."""
    alone = {"target": "", "weight": "", "window": 0}
    return ColumnSelection.of(config.model_copy(update=alone))


def _wrong_width(count: int, config: DataConfig) -> DataError:
    """The error for a row of this width."""
    columns = config.source_columns
    some = f"{count} column{'s' * (count != 1)}"
    which = f"column{'s' * (len(columns) != 1)} {', '.join(columns)}"
    return DataError(
        f"has {some}, and the run reads {which}",
        remedy="give them with tabs between, as a tuple, or as an object with their names",
    )
