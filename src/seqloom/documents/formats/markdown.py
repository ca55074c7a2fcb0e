"""Markdown: paragraphs, headings, list items and table cells, with their inline markup as codes.

A CommonMark parser says which lines are what. Front matter, code, link targets, reference
definitions and rules stay; HTML blocks are read as HTML.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from seqloom.documents.document import (
    DOCUMENT_FORMATS,
    DocumentFormat,
    DocumentSource,
    Patch,
    Segment,
    Slot,
)
from seqloom.documents.formats.html import html_slots
from seqloom.documents.inline import InlineContent
from seqloom.documents.markdown_inline import MarkdownInline, Stretch
from seqloom.documents.markup import collapse_space

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["MarkdownFormat"]

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
FENCES = ("---", "+++")  # of front matter in YAML and TOML
HARD_BREAK = re.compile(r"(?: {2,}|(?<!\\)(?:\\\\)*\\)\Z")
BLOCK_START = re.compile(r"(?:#{1,6}(?=\s|\Z)|[-+*](?=\s|\Z)|>|`{3}|~{3}|[-=]+\s*\Z|[*_]{3,}\s*\Z)")
CLOSING = re.compile(r"(?<=\s)(#+)\Z")
MARKS = "*_`[]<\\|~"  # characters that mean something within a line
NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|\Z)")


@DOCUMENT_FORMATS.part("markdown")
class MarkdownFormat(DocumentFormat):
    """A paragraph that is replaced stands on one line; hard line breaks stay."""

    endings = (".md", ".markdown")

    def slots(self, source: DocumentSource) -> Iterator[Slot]:
        """The slots of the whole document."""
        reader = _MarkdownReader(source)
        before = ""
        for token in reader.tokens():
            if token.type == "tr_open" and token.map:
                reader.cell_end = reader.lines[token.map[0]][0]
            elif token.type == "inline" and token.map:
                cell = before in ("th_open", "td_open")
                yield from reader.cell(token) if cell else reader.paragraph(token)
            elif token.type == "html_block" and token.level == 0 and token.map:
                first, last = token.map
                yield from html_slots(source, reader.lines[first][0], reader.end(last))
            before = token.type


class _MarkdownReader:
    """Finds what the parser found in the lines of the source."""

    def __init__(self, source: DocumentSource) -> None:
        self.source = source
        found = LINE.finditer(source.text)
        self.lines = [(each.start(), each[1].replace("\0", "\ufffd")) for each in found]
        self.references: set[str] = set()
        self.cell_end = 0  # where the last cell of a table ends

    def tokens(self) -> "list[Token]":
        """The blocks, and the paragraphs in them."""
        from markdown_it import MarkdownIt

        texts = [text for _, text in self.lines]
        front = _front_matter(texts)
        texts[:front] = [""] * front
        environment: dict[str, Any] = {}
        parser = MarkdownIt("commonmark").enable(["table"])
        parser.core.ruler.enableOnly(["normalize", "block"])
        tokens = parser.parse("\n".join(texts), environment)
        self.references = set(environment.get("references", ()))
        return tokens

    def end(self, line: int) -> int:
        """Where a line starts, or the document ends."""
        return self.lines[line][0] if line < len(self.lines) else len(self.source.text)

    def paragraph(self, token: "Token") -> Iterator[Slot]:
        """The slots of a paragraph: one, or one for each stretch between hard line breaks."""
        first, last = token.map or (0, 0)
        texts = token.content.split("\n")
        group: list[Stretch] = []
        for line, text in zip(range(first, last), texts, strict=False):
            stretch = self._find(line, text.strip())
            if stretch is None:
                return
            group.append(stretch)
            if stretch.breaks:
                yield from self._slot(group)
                group = []
        yield from self._slot(group)

    def cell(self, token: "Token") -> Iterator[Slot]:
        """The slot of a table's cell, whose pipes are escaped."""
        start, raw = self.lines[token.map[0] if token.map else 0]
        words = token.content.strip().replace("|", "\\|")
        at = raw.find(words, self.cell_end - start)
        if at >= 0:
            self.cell_end = start + at + len(words)
            yield from self._slot([Stretch(start + at, self.cell_end, False)], cell=True)

    def _find(self, line: int, words: str) -> Stretch | None:
        """Where the text of a line stands in the source: last, but for the marks of a heading."""
        start, raw = self.lines[line]
        at = raw.rfind(words)
        if at < 0:
            return None
        breaks = HARD_BREAK.search(raw) is not None
        end = start + at + len(words)
        return Stretch(start + at, end - (breaks and words.endswith("\\")), breaks)

    def _slot(self, group: list[Stretch], *, cell: bool = False) -> Iterator[Slot]:
        if not group:
            return
        inline = MarkdownInline(self.source.text, group, self.references)
        content = InlineContent.trim(inline.parts())
        if content is not None and content.has_letters:
            place = self.source.place(content.start)
            segment = Segment(content.text, place, codes=content.codes)
            write = _MarkdownWriter(content, opens_line=self._opens_line(content.start), cell=cell)
            yield Slot(segment, content.start, content.end, write, content.text)

    def _opens_line(self, offset: int) -> bool:
        """Whether only the marks of blocks can stand before an offset on its line."""
        start = self.source.line_starts[self.source.line(offset) - 1]
        return not any(character.isalpha() for character in self.source.text[start:offset])


class _MarkdownWriter:
    """Writes a translation so that it does not start a block of its own."""

    def __init__(self, content: InlineContent, *, opens_line: bool, cell: bool) -> None:
        self.content = content
        self.opens_line = opens_line
        spellings = {
            character: raw
            for character, raw in content.spellings.items()
            if raw.startswith("&") or character in MARKS
        }
        self.table = str.maketrans(spellings | ({"|": "\\|"} if cell else {}))

    def __call__(self, translation: str, patch: Patch) -> str:
        text = self.content.render(translation, patch, escape=self._escape)
        if self.opens_line and BLOCK_START.match(text):
            text = f"\\{text}"
        elif self.opens_line and NUMBERED.match(text):
            text = NUMBERED.sub(r"\1\\\2", text, count=1)
        return CLOSING.sub(r"\\\1", text)

    def _escape(self, text: str) -> str:
        return collapse_space(text).translate(self.table)


def _front_matter(lines: list[str]) -> int:
    """How many lines at the start are data about the document."""
    if not lines or lines[0].rstrip() not in FENCES:
        return 0
    fence = lines[0].rstrip()
    ends = (number for number, line in enumerate(lines[1:], 1) if line.rstrip() == fence)
    return next((number + 1 for number in ends), 0)
