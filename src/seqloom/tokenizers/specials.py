"""Special symbols, shared by all fields (S1.3), and the saved state of a field.

The special symbols have the same ids in every vocabulary and are never produced from text.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["BLANK", "EMPTY", "END", "SPECIAL_SYMBOLS", "START", "UNK", "FieldState"]

EMPTY, UNK, START, END = 0, 1, 2, 3
BLANK = START  # a masked token; shares the id of `<start>`, which sources do not use
SPECIAL_SYMBOLS = ("<empty>", "<unk>", "<start>", "<end>")


class FieldState(NamedTuple):
    """The saved state of a field: values for JSON and, for subwords, the model file's content."""

    facts: Mapping[str, Any]
    model: bytes = b""
