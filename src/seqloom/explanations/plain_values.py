"""Values and names for JSON, terminals and pictures."""

import unicodedata
from typing import Any

import numpy as np
from rich.cells import cell_len

__all__ = ["round_values", "tick_label", "visible_label"]

DIGITS = 6  # significant digits in JSON
LONGEST_TICK = 28  # characters in a picture
JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def round_values(values: np.ndarray) -> list[Any]:
    """Nested lists of numbers, rounded to six digits."""
    plain: list[Any] = np.round(values.astype(np.float64), DIGITS).tolist()
    return plain


def visible_label(token: str) -> str:
    """A token with spaces and control characters as symbols, and a lone combining mark on a dotted
    circle.
    """
    label = "".join(map(_visible_character, token)).strip(JOINERS) or "∅"
    if cell_len(label[0]) == 0 or unicodedata.category(label[0]).startswith("M"):
        label = "◌" + label
    return label


def _visible_character(character: str) -> str:
    if character == " ":
        return "␣"
    if character in JOINERS:
        return character
    if ord(character) < 0x20:
        return chr(0x2400 + ord(character))
    if unicodedata.category(character)[0] in "CZ":
        return f"<{ord(character):X}>"
    return character


def tick_label(token: str) -> str:
    """A token as a short tick label, with spaces and control characters as symbols."""
    label = visible_label(token)
    return label if len(label) <= LONGEST_TICK else label[: LONGEST_TICK - 1] + "…"
