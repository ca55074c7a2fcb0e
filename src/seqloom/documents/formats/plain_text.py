"""Plain text: paragraphs between blank lines, each broken again at the width it had."""

import re
from collections.abc import Iterator

from seqloom.documents.document import (
    DOCUMENT_FORMATS,
    DocumentFormat,
    DocumentSource,
    Patch,
    Segment,
    Slot,
)
from seqloom.documents.markup import collapse_space
from seqloom.documents.wrapping import wrap_text

__all__ = ["PlainTextFormat"]

SPACE = " \t\f\v"
LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


@DOCUMENT_FORMATS.part("text")
class PlainTextFormat(DocumentFormat):
    """A paragraph is a segment; its lines are read as one and its indentation stays."""

    endings = (".txt", ".text")
    is_lines = True

    def slots(self, source: DocumentSource) -> Iterator[Slot]:
        """A slot for each paragraph that has letters."""
        for lines in _paragraphs(source.text):
            start, end = lines[0][0], lines[-1][1]
            raw = source.text[start:end]
            text = collapse_space(" ".join(source.text[low:high] for low, high in lines))
            if any(character.isalpha() for character in text):
                segment = Segment(text, source.place(start))
                write = _Rewrap(raw, source.newline(start, end))
                yield Slot(segment, start, end, write, text)


class _Rewrap:
    """Writes a paragraph: one line stays one line, several keep their width and indentation."""

    def __init__(self, raw: str, newline: str) -> None:
        self.newline = newline
        lines = raw.split(newline)
        self.width = max(map(len, lines)) if len(lines) > 1 else 0
        self.indent = lines[1][: len(lines[1]) - len(lines[1].lstrip(SPACE))] if lines[1:] else ""

    def __call__(self, translation: str, _: Patch) -> str:
        text = " ".join(translation.split())
        if not self.width:
            return text
        lines = wrap_text(text, width=max(1, self.width - len(self.indent)))
        return f"{self.newline}{self.indent}".join(lines)


def _paragraphs(text: str) -> Iterator[list[tuple[int, int]]]:
    """The stretches of the lines of each paragraph, without the spaces around each."""
    lines: list[tuple[int, int]] = []
    for found in LINE.finditer(text):
        line = found[1]
        start = found.start() + len(line) - len(line.lstrip(SPACE))
        end = found.start() + len(line.rstrip(SPACE))
        if start < end:
            lines.append((start, end))
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines
