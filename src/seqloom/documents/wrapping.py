"""Rewrap translated text in documents with hard line breaks."""

import re

__all__ = ["balance_lines", "wrap_text"]

CHARACTERS = r"(?:<[^<>]*>|[^\s<]|<)"  # does not break inside a tag
WORD = re.compile(rf"{CHARACTERS}+(?: [-–—‐]{CHARACTERS}*)*")
"""A word with the dashes after it: a line that begins with a dash is another speaker's."""


def wrap_text(text: str, *, width: int) -> list[str]:
    """Wrap a text at `width` characters; longer words get their own line."""
    lines: list[str] = []
    for word in WORD.findall(text):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def balance_lines(text: str, *, count: int) -> list[str]:
    """Break a text into at most `count` lines, with the shortest possible longest line."""
    low, high = 1, max(1, len(text))
    while low < high:
        width = (low + high) // 2
        if len(wrap_text(text, width=width)) <= count:
            high = width
        else:
            low = width + 1
    return wrap_text(text, width=low)
