"""The text of a subtitle: lines with inline tags, joined for translation and broken again."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from seqloom.documents.document import DocumentSource, Patch, Segment, Slot
from seqloom.documents.inline import InlineContent, InlinePart, Role
from seqloom.documents.markup import collapse_space, text_parts
from seqloom.documents.wrapping import balance_lines

__all__ = ["CueSyntax", "TextLine", "cue_slots", "text_blocks"]

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
SPEAKER = re.compile(r"\s*(?:<[^<>]*>|\{[^{}]*\})*\s*(?:[-–—‐]\s*\S|<v[ .])")
DASH = re.compile(r"[-–—‐][ \t]*")


class TextLine(NamedTuple):
    """A source line without its line ending."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The offset of its line ending."""
        return self.start + len(self.text)


class CueSyntax(NamedTuple):
    """How a format writes tags and text; without references `&amp;` is literal."""

    tag: re.Pattern[str]
    references: bool
    escape: Callable[[str, dict[str, str]], str]


def text_blocks(text: str) -> Iterator[list[TextLine]]:
    """Split lines into blocks at blank lines."""
    block: list[TextLine] = []
    for found in LINE.finditer(text):
        if found[1].strip():
            block.append(TextLine(found.start(), found[1]))
        elif block:
            yield block
            block = []
    if block:
        yield block


def cue_slots(
    source: DocumentSource, lines: Sequence[TextLine], name: str, *, syntax: CueSyntax
) -> Iterator[Slot]:
    """The slots of a cue: one, or one per line for a dialogue of several speakers."""
    speakers = len(lines) > 1 and all(SPEAKER.match(line.text) for line in lines)
    for group in [[line] for line in lines] if speakers else [list(lines)]:
        start, end = group[0].start, group[-1].end
        parts = list(_parts(source.text[start:end], start, syntax))
        content = InlineContent.trim(_without_dash(parts) if speakers else parts)
        if content is not None and content.has_letters:
            segment = Segment(content.text, source.place(content.start), name, content.codes)
            write = _CueWriter(source, content, syntax)
            yield Slot(segment, content.start, content.end, write, content.text)


class _CueWriter:
    """Writes a cue in its original number of lines."""

    def __init__(self, source: DocumentSource, content: InlineContent, syntax: CueSyntax) -> None:
        self.content = content
        self.syntax = syntax
        self.newline = source.newline(content.start, content.end)
        self.count = source.line(content.end) - source.line(content.start) + 1

    def __call__(self, translation: str, patch: Patch) -> str:
        def escape(text: str) -> str:
            return self.syntax.escape(collapse_space(text), self.content.spellings)

        text = self.content.render(translation, patch, escape=escape)
        return self.newline.join(balance_lines(text, count=self.count)) if self.count > 1 else text


def _parts(raw: str, start: int, syntax: CueSyntax) -> Iterator[InlinePart]:
    position = 0
    for found in [*syntax.tag.finditer(raw), None]:
        text = raw[position : found.start() if found else len(raw)]
        yield from _texts(text, start + position, syntax)
        if found:
            low, position = found.start(), found.end()
            name = found["close"] or found["open"] or ""
            role = Role.CLOSE if found["close"] else Role.OPEN if name else Role.ALONE
            yield InlinePart(start + low, start + position, found[0], role, name=name)


def _texts(text: str, start: int, syntax: CueSyntax) -> list[InlinePart]:
    if syntax.references:
        return text_parts(text, start, xml=False)
    return [
        InlinePart(
            start + found.start(),
            start + found.end(),
            found[0],
            Role.TEXT if found[0].strip() else Role.SPACE,
            found[0] if found[0].strip() else " ",
        )
        for found in re.finditer(r"\s+|\S+", text)
    ]


def _without_dash(parts: list[InlinePart]) -> list[InlinePart]:
    """The parts of a line, with the speaker's dash as a code."""
    for index, part in enumerate(parts):
        if part.role is Role.TEXT:
            found = DASH.match(part.raw) if part.raw == part.text else None
            if found is None:
                return parts
            cut = part.start + found.end()
            rest = part.raw[found.end() :]
            after = [InlinePart(cut, part.end, rest, Role.TEXT, rest)] if rest else []
            dash = InlinePart(part.start, cut, found[0], Role.ALONE)
            return [*parts[:index], dash, *after, *parts[index + 1 :]]
    return parts
