"""Stretches of a text file that can be read apart from each other, for several processes.

`text_blocks` cuts a file at ends of lines; `TextBlock.lines` gives what `text_lines` gives there.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from seqloom.readers.lines import (
    READ_ERRORS,
    Fault,
    check_line,
    open_text,
    raw_lines,
)

__all__ = ["TextBlock", "text_blocks"]

BLOCK = 1 << 21  # bytes of a block, about


class TextBlock(NamedTuple):
    """Whole lines of a file, the number of the first, and the share of the file up to their end."""

    content: bytes
    first: int
    share: float

    @property
    def line_count(self) -> int:
        """How many lines there are."""
        return self.content.count(b"\n") + bool(self.content and not self.content.endswith(b"\n"))

    def lines(self, name: str, *, max_line: int) -> Iterator[str | Fault]:
        """Each line without its end, or what makes it unusable."""
        raw = self.content.split(b"\n")
        if not raw[-1]:
            raw.pop()
        for number, line in enumerate(raw, self.first):
            yield check_line(line, name, number, max_line=max_line)

    def clean_lines(self, *, max_line: int) -> list[str] | None:
        """All lines at once; None unless each is sound as it is, without looking closely."""
        if b"\0" in self.content or b"\r" in self.content:
            return None
        try:
            lines = self.content.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            return None
        if not lines[-1]:
            lines.pop()
        return lines if 4 * max(map(len, lines), default=0) <= max_line else None


def text_blocks(path: Path, *, max_line: int) -> Iterator[TextBlock]:
    """The lines of a file in blocks; where bytes cannot be read, DataError says at which line."""
    first = 1
    try:
        for content, share in _read_blocks(path, max_line):
            block = TextBlock(content, first, share)
            first += block.line_count
            yield block
    except READ_ERRORS:
        rest = islice(raw_lines(path, max_line=max_line), first - 1, None)
        for number, (line, *_) in enumerate(rest, first):
            yield TextBlock(line.removesuffix(b"\n") + b"\n", number, 1.0)


def _read_blocks(path: Path, max_line: int) -> Iterator[tuple[bytes, float]]:
    """The content in pieces of whole lines; of a line that is far too long only the beginning."""
    size = max(1, path.stat().st_size)
    with open_text(path) as stream:
        raw = getattr(stream, "fileobj", stream)  # of gzip, whose place tells how far it is
        rest, skipping = b"", False
        while part := stream.read(BLOCK):
            if skipping:
                _, newline, part = part.partition(b"\n")
                skipping = not newline
                if skipping:
                    continue
            whole, newline, rest = (rest + part).rpartition(b"\n")
            if newline:
                yield whole + newline, min(1.0, raw.tell() / size)
            if len(rest) > max_line + 2:
                yield rest[: max_line + 2] + b"\n", min(1.0, raw.tell() / size)
                rest, skipping = b"", True
        if rest:
            yield rest, 1.0
