"""Layout of lines and labels for a terminal."""

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from seqloom.explanations.plain_values import visible_label

__all__ = ["panels", "terminal_label", "truncate_line", "wrap_lines"]

LONGEST_LABEL = 14  # terminal cells
RIGHT_TO_LEFT = {"R", "AL"}


def panels(sizes: Sequence[int], room: int) -> Iterator[range]:
    """Runs of columns that fit into the room, each column with a leading space; never empty."""
    first, used = 0, 0
    for position, size in enumerate(sizes):
        if used + 1 + size > room and position > first:
            yield range(first, position)
            first, used = position, 0
        used += 1 + size
    yield range(first, len(sizes))


def truncate_line(line: str, width: int) -> str:
    """A line truncated to `width` cells."""
    return line if cell_len(line) <= width else set_cell_size(line, max(1, width - 1)) + "…"


def wrap_lines(lines: Iterable[str], width: int) -> str:
    """Wrap long lines, with indented continuations."""
    return "\n".join(
        part
        for line in lines
        for part in textwrap.wrap(
            line, max(20, width), subsequent_indent="    ", drop_whitespace=True
        )
        or [""]
    )


def terminal_label(token: str, longest: int = LONGEST_LABEL) -> str:
    """A token as at least one visible cell, without control characters or changes of text
    direction.
    """
    label = visible_label(token)
    if cell_len(label) > longest:
        label = set_cell_size(label, longest - 1).rstrip() + "…"
    if any(unicodedata.bidirectional(character) in RIGHT_TO_LEFT for character in label):
        label += "\N{LEFT-TO-RIGHT MARK}"
    return label
