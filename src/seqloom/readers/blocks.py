"""Blocks of a text file that several processes can read independently.

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
    read_error,
)

__all__ = ["TextBlock", "count_lines", "text_blocks"]

BLOCK = 1 << 21  # bytes of a block, about
CHUNK = 1 << 20  # bytes that are counted at a time


class TextBlock(NamedTuple):
    """A block of whole lines, the number of the first, and the share of the file up to its end."""

    content: bytes
    first: int
    share: float

    @property
    def line_count(self) -> int:
        """How many lines there are."""
        return self.content.count(b"\n") + bool(self.content and not self.content.endswith(b"\n"))

    def lines(self, name: str, *, max_line: int) -> Iterator[str | Fault]:
        """The lines without their ends, or the faults in their place."""
        raw = self.content.split(b"\n")
        if not raw[-1]:
            raw.pop()
        for number, line in enumerate(raw, self.first):
            yield check_line(line, name, number, max_line=max_line)

    def clean_lines(self, *, max_line: int) -> list[str] | None:
        """All lines at once, by a fast check; None unless every line is sound."""
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
    """Yield the lines of a file in blocks; DataError with the line if bytes cannot be read."""
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


def count_lines(path: Path) -> int:
    """Count the items of `text_lines` by line ends alone."""
    count, last = 0, b"\n"
    with open_text(path) as stream:
        while True:
            try:
                chunk = stream.read(CHUNK)
            except READ_ERRORS as error:
                raise read_error(error, f"{path}:{count + 1}") from None
            if not chunk:
                return count + (last != b"\n")
            count, last = count + chunk.count(b"\n"), chunk[-1:]


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
