"""HTML: paragraphs with inline tags, and human-readable attributes.

Python's HTML parser locates the tokens; tags, comments and anything it cannot parse are copied from
the source. Scripts, styles, `pre` and elements marked `translate="no"` or with the class
`notranslate` stay unchanged.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from typing import NamedTuple

from seqloom.documents.document import (
    DOCUMENT_FORMATS,
    DocumentFormat,
    DocumentSource,
    Patch,
    Segment,
    Slot,
)
from seqloom.documents.html_elements import BUTTONS, IMPLIED_ENDS, INLINE, META, OPAQUE, READ, VOID
from seqloom.documents.inline import InlineContent, InlinePart, Role
from seqloom.documents.markup import (
    AttributeValue,
    MarkupToken,
    TokenKind,
    collapse_space,
    escape_markup,
    text_parts,
)

__all__ = ["HtmlFormat", "html_slots"]

CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([A-Za-z][\w.:-]*)""", re.IGNORECASE)
HEAD = 1024  # searched for a declared encoding
LATIN = {"iso-8859-1", "iso8859-1", "latin1", "latin-1", "us-ascii", "ascii"}


@DOCUMENT_FORMATS.part("html")
class HtmlFormat(DocumentFormat):
    """Text between block tags is a segment, with its inline tags as codes."""

    endings = (".html", ".htm", ".xhtml")
    references = True

    def declared_encoding(self, data: bytes) -> str | None:
        """The encoding of a meta tag; Latin-1 means Windows-1252, as in browsers."""
        found = CHARSET.search(data[:HEAD])
        name = found[1].decode().lower() if found else None
        return "cp1252" if name in LATIN else name

    def slots(self, source: DocumentSource) -> Iterator[Slot]:
        """The slots of the whole document."""
        return html_slots(source, 0, len(source.text))


def html_slots(source: DocumentSource, start: int, end: int) -> Iterator[Slot]:
    """The slots of a stretch of HTML."""
    flow = _Flow(source)
    for token in _tokens(source.text[start:end], start):
        yield from flow.read(token)
    yield from flow.flush()


class _Element(NamedTuple):
    """An open element and whether the text in it is translated."""

    name: str
    translated: bool


class _Hidden(NamedTuple):
    """An inline element that is a single code with its content, and its nesting depth."""

    start: int
    depth: int


class _Flow:
    """Collects the parts of a paragraph up to a block tag."""

    def __init__(self, source: DocumentSource) -> None:
        self.source = source
        self.parts: list[InlinePart] = []
        self.open: list[_Element] = []
        self.hidden: _Hidden | None = None

    @property
    def is_translatable(self) -> bool:
        """Whether text here is translated."""
        return not self.open or self.open[-1].translated

    def read(self, token: MarkupToken) -> Iterator[Slot]:
        """Process a token; yield the slots that it completes."""
        if token.kind in (TokenKind.START, TokenKind.EMPTY):
            yield from self._start(token)
        elif token.kind is TokenKind.END:
            yield from self._end(token)
        elif self.is_translatable and token.kind is TokenKind.TEXT:
            self.parts += text_parts(token.raw, token.start, xml=False)
        elif self.is_translatable:
            self._add(token.start, token.end)

    def flush(self) -> Iterator[Slot]:
        """The slot of the paragraph so far, if it has letters."""
        content = InlineContent.trim(self.parts)
        self.parts = []
        if content is not None and content.has_letters:
            yield _slot(self.source, content)

    def _start(self, token: MarkupToken) -> Iterator[Slot]:
        before, inline = self.is_translatable, token.name in INLINE
        translated = self._is_translated(token)
        if self.hidden is None and not (inline and (translated or before)):
            yield from self.flush()
        if not inline:
            self._close_implied(token.name)
        if self.hidden is None and before and not _says_no(token):
            yield from self._attributes(token)
        empty = token.kind is TokenKind.EMPTY or token.name in VOID
        if inline and before and self.hidden is None:
            if translated or empty:
                role = Role.ALONE if empty else Role.OPEN
                self._add(token.start, token.end, role=role, name=token.name)
            else:
                self.hidden = _Hidden(token.start, len(self.open))
        if not empty:
            self.open.append(_Element(token.name, translated and self.hidden is None))

    def _end(self, token: MarkupToken) -> Iterator[Slot]:
        before, inline = self.is_translatable, token.name in INLINE
        names = [element.name for element in self.open]
        if token.name in names:
            del self.open[len(names) - 1 - names[::-1].index(token.name) :]
        if self.hidden is not None and len(self.open) <= self.hidden.depth:
            self._add(self.hidden.start, token.end if inline else token.start)
            self.hidden = None
        elif inline and before and self.is_translatable:
            self._add(token.start, token.end, role=Role.CLOSE, name=token.name)
        elif before and inline:
            yield from self.flush()
        if not inline and self.hidden is None:
            yield from self.flush()

    def _add(self, start: int, end: int, *, role: Role = Role.ALONE, name: str = "") -> None:
        raw = self.source.text[start:end]
        self.parts.append(InlinePart(start, end, raw, role, name=name))

    def _close_implied(self, name: str) -> None:
        """End a paragraph at any block, and an item or cell at the next."""
        if self.open and self.open[-1].name == "p":
            self.open.pop()
        while self.open and name in IMPLIED_ENDS.get(self.open[-1].name, ()):
            self.open.pop()

    def _is_translated(self, token: MarkupToken) -> bool:
        """Whether the text in an element is."""
        if _says_no(token) or token.name in OPAQUE:
            return False
        return self.is_translatable or (token.attribute("translate") or "").lower() == "yes"

    def _attributes(self, token: MarkupToken) -> Iterator[Slot]:
        for name, value in token.attributes.items():
            slot = _attribute_slot(self.source, value) if _is_read(token, name) else None
            if slot is not None:
                yield slot


def _says_no(token: MarkupToken) -> bool:
    """Whether an element is marked as one that stays as it is."""
    classes = (token.attribute("class") or "").split()
    return "notranslate" in classes or (token.attribute("translate") or "").lower() == "no"


def _is_read(token: MarkupToken, name: str) -> bool:
    """Whether people read the value of an attribute."""
    if token.name == "meta":
        kind = token.attribute("name") or token.attribute("property") or ""
        return name == "content" and kind.lower() in META
    if token.name == "input" and name == "value":
        return (token.attribute("type") or "").lower() in BUTTONS
    return name in READ


def _slot(source: DocumentSource, content: InlineContent) -> Slot:
    def write(translation: str, patch: Patch) -> str:
        def escape(text: str) -> str:
            return escape_markup(collapse_space(text), spellings=content.spellings)

        return content.render(translation, patch, escape=escape)

    segment = Segment(content.text, source.place(content.start), codes=content.codes)
    return Slot(segment, content.start, content.end, write, content.text)


def _attribute_slot(source: DocumentSource, value: AttributeValue) -> Slot | None:
    """A slot for the value of an attribute; it gets quotes where it has none."""
    content = InlineContent.trim(text_parts(value.raw, value.start, xml=False))
    if content is None or not content.has_letters:
        return None

    def write(translation: str, _: Patch) -> str:
        text = collapse_space(translation).strip(" ")
        written = escape_markup(text, spellings=content.spellings, quote=value.quote or '"')
        return written if value.quote else f'"{written}"'

    segment = Segment(content.text, source.place(content.start))
    return Slot(segment, content.start, content.end, write, content.text)


class _PositionParser(HTMLParser):
    """Notes where each token starts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[TokenKind, tuple[int, int], str]] = []

    def _note(self, kind: TokenKind, name: str = "") -> None:
        self.found.append((kind, self.getpos(), name))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """A start tag."""
        self._note(TokenKind.START, tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """A start tag that ends with a slash, which counts for elements of SVG and MathML."""
        self._note(TokenKind.EMPTY, tag)

    def handle_endtag(self, tag: str) -> None:
        """An end tag."""
        self._note(TokenKind.END, tag)

    def handle_data(self, data: str) -> None:
        """Text."""
        self._note(TokenKind.TEXT)

    def handle_entityref(self, name: str) -> None:
        """Text that is a named reference."""
        self._note(TokenKind.TEXT)

    def handle_charref(self, name: str) -> None:
        """Text that is a numeric reference."""
        self._note(TokenKind.TEXT)

    def handle_comment(self, data: str) -> None:
        """A comment."""
        self._note(TokenKind.OTHER)

    def handle_decl(self, decl: str) -> None:
        """A document type."""
        self._note(TokenKind.OTHER)

    def handle_pi(self, data: str) -> None:
        """A processing instruction."""
        self._note(TokenKind.OTHER)

    def unknown_decl(self, data: str) -> None:
        """A CDATA section, or a declaration that HTML does not have."""
        self._note(TokenKind.OTHER)


def _tokens(text: str, start: int) -> Iterator[MarkupToken]:
    """The tokens of HTML, one after the other without a gap."""
    parser = _PositionParser()
    parser.feed(text)
    parser.close()
    lines = [0, *(found.end() for found in re.finditer("\n", text))]
    places = [lines[line - 1] + column for _, (line, column), _ in parser.found]
    for (kind, _, name), (low, high) in zip(
        parser.found, pairwise([*places, len(text)]), strict=True
    ):
        if low < high:
            yield MarkupToken(kind, start + low, text[low:high], name)
