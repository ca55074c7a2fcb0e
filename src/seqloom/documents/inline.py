"""Text with inline codes: how it is presented for translation, and how a translation is rendered.

A paragraph such as `Hello <b>world</b>!` is text and codes. A translator gets one string that
includes the codes; in its translation each code is used at most once, opening and closing codes are
nested, and everything else is text.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property
from itertools import pairwise

from seqloom.documents.document import Patch

__all__ = ["InlineContent", "InlinePart", "Role"]


class Role(Enum):
    """The role of a part of a paragraph."""

    TEXT = auto()
    SPACE = auto()
    OPEN = auto()
    CLOSE = auto()
    ALONE = auto()


CODES = (Role.OPEN, Role.CLOSE, Role.ALONE)


@dataclass(frozen=True)
class InlinePart:
    """A span of the source: `raw` is its markup, `text` its content."""

    start: int
    end: int
    raw: str
    role: Role
    text: str = ""  # content of TEXT and SPACE
    name: str = ""  # pairs OPEN with CLOSE

    @property
    def is_code(self) -> bool:
        """Whether it is a code, which translations contain literally."""
        return self.role in CODES

    @property
    def visible(self) -> str:
        """The text presented for translation."""
        return self.raw if self.is_code else self.text

    @property
    def as_code(self) -> "InlinePart":
        """The span as a standalone code."""
        return replace(self, role=Role.ALONE, text="", name="")


@dataclass(frozen=True)
class InlineContent:
    """The parts of a paragraph, without leading and trailing codes and spaces."""

    parts: tuple[InlinePart, ...]

    @classmethod
    def trim(cls, parts: Sequence[InlinePart]) -> "InlineContent | None":
        """Trim a paragraph; None if it has no text, or none that is distinct from its codes."""
        paired = _pair(parts)
        first, last = _inner_span(paired)
        inner = tuple(paired[first : last + 1])
        if not any(part.role is Role.TEXT for part in inner):
            return None
        return _unambiguous(cls(inner))

    @property
    def start(self) -> int:
        """Its start offset in the source."""
        return self.parts[0].start

    @property
    def end(self) -> int:
        """Its end offset in the source."""
        return self.parts[-1].end

    @cached_property
    def text(self) -> str:
        """The text presented for translation."""
        return "".join(part.visible for part in self.parts)

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Its codes, in order."""
        return tuple(part.raw for part in self.parts if part.is_code)

    @property
    def has_letters(self) -> bool:
        """Whether it has letters to translate."""
        texts = (part.text for part in self.parts if part.role is Role.TEXT)
        return any(character.isalpha() for text in texts for character in text)

    @cached_property
    def spellings(self) -> dict[str, str]:
        """The source's spellings of escaped characters."""
        return {
            part.text: part.raw
            for part in reversed(self.parts)
            if part.role is Role.TEXT and len(part.text) == 1 and part.raw != part.text
        }

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """A pattern that matches any of its codes."""
        raws = sorted(set(self.codes), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, raws))) if raws else None

    def render(self, translation: str, patch: Patch, *, escape: Callable[[str], str]) -> str:
        """Render a translation as source: with the source's codes, and text escaped."""
        translation = translation.strip(" \t\r\n\f")
        writer = _Writer(self, patch)
        position = 0
        for found in self.pattern.finditer(translation) if self.pattern else ():
            writer.pieces.append(escape(translation[position : found.start()]))
            writer.code(found[0])
            position = found.end()
        writer.pieces.append(escape(translation[position:]))
        writer.close_all()
        return "".join(writer.pieces)


class _Writer:
    """Writes codes such that each is used at most once and all are nested."""

    def __init__(self, content: InlineContent, patch: Patch) -> None:
        self.pieces: list[str] = []
        self._patch = patch
        self._open: list[InlinePart] = []
        self._left: defaultdict[str, deque[InlinePart]] = defaultdict(deque)
        for part in content.parts:
            if part.is_code:
                self._left[part.raw].append(part)
        self._closers = _closers(content.parts)

    def code(self, raw: str) -> None:
        """Write the next code of this spelling, unless none is left or it closes nothing."""
        if not self._left[raw]:
            return
        part = self._left[raw].popleft()
        if part.role is Role.CLOSE:
            self._close(part)
            return
        self._add(part)
        if part.role is Role.OPEN:
            self._open.append(part)

    def close_all(self) -> None:
        """Close all open codes."""
        while self._open:
            self._add(self._closers[self._open.pop()])

    def _close(self, closer: InlinePart) -> None:
        """Close the innermost element of a name, and first all elements inside it."""
        if not any(part.name == closer.name for part in self._open):
            return
        while (inner := self._open.pop()).name != closer.name:
            self._add(self._closers[inner])
        self._add(closer)

    def _add(self, part: InlinePart) -> None:
        self.pieces.append(self._patch(part.start, part.end))


def _closers(parts: Sequence[InlinePart]) -> dict[InlinePart, InlinePart]:
    """The closing part of each opening part of paired codes."""
    found, waiting = {}, []
    for part in parts:
        if part.role is Role.OPEN:
            waiting.append(part)
        elif part.role is Role.CLOSE:
            found[waiting.pop()] = part
    return found


def _pair(parts: Sequence[InlinePart]) -> list[InlinePart]:
    """Turn each OPEN and CLOSE without a partner into a standalone code."""
    paired = list(parts)
    waiting: list[int] = []
    for index, part in enumerate(parts):
        if part.role is Role.OPEN:
            waiting.append(index)
        elif part.role is Role.CLOSE:
            own = next((at for at in reversed(waiting) if parts[at].name == part.name), None)
            if own is None:
                paired[index] = part.as_code
            while own is not None and (last := waiting.pop()) != own:
                paired[last] = parts[last].as_code
    for index in waiting:
        paired[index] = parts[index].as_code
    return paired


def _inner_span(parts: Sequence[InlinePart]) -> tuple[int, int]:
    """The first and the last part inside the surrounding codes and spaces."""
    closers = {part.start: closer.start for part, closer in _closers(parts).items()}
    around = (Role.SPACE, Role.ALONE)
    first, last = 0, len(parts) - 1
    while first <= last:
        if parts[first].role in around:
            first += 1
        elif parts[last].role in around:
            last -= 1
        elif closers.get(parts[first].start) == parts[last].start:
            first, last = first + 1, last - 1
        else:
            break
    return first, last


def _unambiguous(content: InlineContent) -> InlineContent | None:
    """The content, changed so that codes and text can be told apart.

    Text that equals a code (`&lt;b&gt;` beside `<b>`) becomes a code itself.
    """
    if _reads_right(content):
        return content
    spelt = [
        part.as_code if part.role is Role.TEXT and part.raw != part.text else part
        for part in content.parts
    ]
    content = InlineContent(tuple(spelt))
    if not _reads_right(content) and content.pattern is not None:
        pattern = content.pattern
        content = InlineContent(tuple(p for part in spelt for p in _split(part, pattern)))
    texts = any(part.role is Role.TEXT for part in content.parts)
    return content if texts and _reads_right(content) else None


def _split(part: InlinePart, pattern: re.Pattern[str]) -> list[InlinePart]:
    """Split off substrings that equal a code as codes."""
    if part.role is not Role.TEXT:
        return [part]
    cuts = [0, *(at for found in pattern.finditer(part.raw) for at in found.span()), len(part.raw)]
    pieces = []
    for number, (low, high) in enumerate(pairwise(cuts)):
        raw = part.raw[low:high]
        piece = InlinePart(part.start + low, part.start + high, raw, Role.TEXT, raw)
        pieces += [piece.as_code if number % 2 else piece] if raw else []
    return pieces


def _reads_right(content: InlineContent) -> bool:
    """Whether the codes found in the text are exactly its own."""
    if content.pattern is None:
        return True
    found = [match.span() for match in content.pattern.finditer(content.text)]
    position, spans = 0, []
    for part in content.parts:
        end = position + len(part.visible)
        if part.is_code:
            spans.append((position, end))
        position = end
    return found == spans
