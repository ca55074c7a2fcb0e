"""What all fields share: the special symbols (S1.3), and what of a field is saved.

The special symbols have the same ids in every vocabulary and are never made from text.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["BLANK", "EMPTY", "END", "SPECIAL_SYMBOLS", "START", "UNK", "FieldState"]

EMPTY, UNK, START, END = 0, 1, 2, 3
BLANK = START  # in a source, which nothing starts: a token that was left out
SPECIAL_SYMBOLS = ("<empty>", "<unk>", "<start>", "<end>")


class FieldState(NamedTuple):
    """What a field is made of: values for JSON and, for subwords, the model file's content."""

    facts: Mapping[str, Any]
    model: bytes = b""
