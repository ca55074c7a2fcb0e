"""Held-out rows as inputs to try, in the form in which a request holds them."""

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from seqloom.data import even_indices
from seqloom.drawing.page import Picture
from seqloom.fields import UNK, Field, split_turns
from seqloom.prediction import Predictor
from seqloom.tasks.report_rows import HeldOutRow, source_preview

__all__ = [
    "EXAMPLES",
    "ExampleInput",
    "name_field",
    "plain_rows",
    "source_examples",
    "spread_by_length",
]

EXAMPLES = 3
LONGEST_TEXT = 120  # characters, so that an example is read at a glance


class ExampleInput(NamedTuple):
    """An input to try, and the target of its row."""

    input: Any  # a text, a list of turns, or a file in base64, as requests have it
    reference: str = ""


def name_field(field: Field) -> str:
    """The kind of a column and, of text, what it is cut into: `text (words)`."""
    unit = field.facts().get("unit")
    return f"{field.config.kind} ({unit}s)" if unit else field.config.kind


def source_examples(model: Predictor, held: Sequence[HeldOutRow]) -> list[ExampleInput]:
    """The sources of a few rows that can be sent as they were given."""
    if model.source.reads_files:
        previews = [(source_preview(model.source, row), row.target) for row in held[:EXAMPLES]]
        return [
            ExampleInput({"base64": base64.b64encode(shown.png).decode("ascii")}, target)
            for shown, target in previews
            if isinstance(shown, Picture)
        ]
    chosen = spread_by_length(plain_rows(model, held))
    listed = model.config.data.turns or model.config.data.columns
    return [
        ExampleInput(split_turns(row.source) if listed else row.source, row.target)
        for row in chosen
    ]


def plain_rows(model: Predictor, held: Sequence[HeldOutRow]) -> list[HeldOutRow]:
    """Rows with different sources of known words that are short and read back as they were."""
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
    """Three of them, from short to long."""
    ordered = sorted(rows, key=lambda row: len(row.source) or len(row.target))
    inner = ordered[len(ordered) // 4 :] if len(ordered) > EXAMPLES else ordered
    return [inner[place] for place in even_indices(len(inner), EXAMPLES)]


def _has_known_tokens(model: Predictor, row: HeldOutRow) -> bool:
    return not model.source.is_text or UNK not in np.asarray(row.source_values)
