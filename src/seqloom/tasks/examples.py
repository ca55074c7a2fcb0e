"""Validation rows as example inputs, in the form of requests."""

import base64
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqloom.data import Report, even_indices, read_rows
from seqloom.data.series_table import NO_TIME
from seqloom.drawing.page import Picture
from seqloom.errors import DataError
from seqloom.fields import UNK, Field, split_turns
from seqloom.fields.protocol import UploadLimits
from seqloom.prediction import Forecaster, Predictor
from seqloom.tasks.report_rows import HeldOutRow, source_preview

__all__ = [
    "EXAMPLES",
    "ExampleInput",
    "name_field",
    "plain_rows",
    "source_examples",
    "spread_by_length",
    "window_examples",
]

EXAMPLES = 3
LONGEST_TEXT = 120  # characters
LONGEST_SOUND = 60.0  # seconds
MOST_BYTES = 100_000  # of a file
MOST_FILES = 20  # files checked
MOST_CELLS = 12_000  # over all windows


Column = list[float | None]


class ExampleInput(NamedTuple):
    """An example input, and the target of its row."""

    input: Any  # as in a request: a text, a list of turns, a file in base64, a table
    reference: str = ""


def name_field(field: Field) -> str:
    """The kind of a column and the unit of a text: `text (words)`."""
    unit = field.facts().get("unit")
    return f"{field.config.kind} ({unit}s)" if unit else field.config.kind


def source_examples(model: Predictor, held: Sequence[HeldOutRow]) -> list[ExampleInput]:
    """The sources of a few rows that can be sent in their original form."""
    if model.source.items.pixels is not None:
        previews = [(source_preview(model.source, row), row.target) for row in held[:EXAMPLES]]
        return [
            _file_example(shown.png, target)
            for shown, target in previews
            if isinstance(shown, Picture)
        ]
    if model.source.takes_uploads:
        return list(islice(_uploads(model, held), EXAMPLES))
    if model.source.takes_lists:
        return [ExampleInput(row.source, row.target) for row in held if row.source.startswith("[")][
            :EXAMPLES
        ]
    chosen = spread_by_length(plain_rows(model, held))
    listed = model.config.data.turns or model.config.data.columns
    return [
        ExampleInput(split_turns(row.source) if listed else row.source, row.target)
        for row in chosen
    ]


def window_examples(model: Forecaster, held: Sequence[HeldOutRow]) -> list[ExampleInput]:
    """Evenly spaced validation windows as tables, and the steps after each. Steps are numbered,
    since times are not stored.
    """
    cells = model.shape.window * len(model.source.names)
    count = min(EXAMPLES, MOST_CELLS // cells)
    chosen = [held[place] for place in even_indices(len(held), count)]
    return [ExampleInput({"series": _table(model, row)}, row.target) for row in chosen]


def _table(model: Forecaster, row: HeldOutRow) -> dict[str, Column]:
    """The columns of a window. Columns known ahead extend beyond its end, and begin with steps that
    are not read.
    """
    values = model.source.unscale(np.asarray(row.source_values))
    columns: list[Column] = [[float(f"{each:.6g}") for each in column] for column in values.T]
    observed, ahead = model.columns.observation_width, 0
    if model.columns.known:
        ahead = model.shape.horizon
        known = [[column[0]] * ahead + column for column in columns[observed:]]
        columns = [[*column, *[None] * ahead] for column in columns[:observed]] + known
    time = model.config.data.time
    first: dict[str, Column] = (
        {time: [*range(1, len(values) + ahead + 1)]} if time not in ("", NO_TIME) else {}
    )
    return {**first, **dict(zip(model.columns.all, columns, strict=True))}


def _uploads(model: Predictor, held: Sequence[HeldOutRow]) -> Iterator[ExampleInput]:
    """The files of rows that are small and unchanged since encoding."""
    wanted = {row.place: row for row in held[:MOST_FILES] if row.place is not None}
    files = dict.fromkeys(place.file for place in wanted)
    try:
        for found in chain(*(read_rows(Path(file), model.config.data, Report()) for file in files)):
            row = wanted.pop(found.place, None)
            if row is not None and (content := _same_file(model.source, found.source, row)):
                yield _file_example(content, row.target)
            if not wanted:
                return
    except (DataError, OSError):
        return


def _same_file(field: Any, name: str, row: HeldOutRow) -> bytes:
    """The content of a row's file; empty if it has changed since encoding."""
    path = Path(name)
    content = path.read_bytes() if path.stat().st_size <= MOST_BYTES else b""
    limits = UploadLimits(pixels=1, seconds=LONGEST_SOUND)
    same = content and np.array_equal(field.read_upload(content, limits), row.source_values)
    return content if same else b""


def _file_example(content: bytes, target: str) -> ExampleInput:
    return ExampleInput({"base64": base64.b64encode(content).decode("ascii")}, target)


def plain_rows(model: Predictor, held: Sequence[HeldOutRow]) -> list[HeldOutRow]:
    """Rows with distinct short sources without unknown symbols, which decode to the original
    text.
    """
    found = {
        row.source: row
        for row in held
        if row.source.strip()
        and len(row.source) <= LONGEST_TEXT
        and _has_known_tokens(model, row)
        and np.array_equal(model.source.rows([row.source])[0], row.source_values)
    }
    return list(found.values())


def spread_by_length(rows: Sequence[HeldOutRow]) -> list[HeldOutRow]:
    """Three of the rows, from short to long."""
    ordered = sorted(rows, key=lambda row: len(row.source) or len(row.target))
    inner = ordered[len(ordered) // 4 :] if len(ordered) > EXAMPLES else ordered
    return [inner[place] for place in even_indices(len(inner), EXAMPLES)]


def _has_known_tokens(model: Predictor, row: HeldOutRow) -> bool:
    return not model.source.is_text or UNK not in np.asarray(row.source_values)
