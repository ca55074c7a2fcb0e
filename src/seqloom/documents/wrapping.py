"""Lines of a text that a document breaks by hand: broken again after translation."""

import re

__all__ = ["balance_lines", "wrap_text"]

CHARACTERS = r"(?:<[^<>]*>|[^\s<]|<)"  # a tag with spaces in it is not broken
WORD = re.compile(rf"{CHARACTERS}+(?: [-–—‐]{CHARACTERS}*)*")
"""A word with the dashes after it: a line that begins with a dash is another speaker's."""


def wrap_text(text: str, *, width: int) -> list[str]:
    """The words of a text in lines of at most `width` characters, longer words on their own."""
    lines: list[str] = []
    for word in WORD.findall(text):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def balance_lines(text: str, *, count: int) -> list[str]:
    """The words of a text in at most `count` lines, the longest as short as can be."""
    low, high = 1, max(1, len(text))
    while low < high:
        width = (low + high) // 2
        if len(wrap_text(text, width=width)) <= count:
            high = width
        else:
            low = width + 1
    return wrap_text(text, width=low)
