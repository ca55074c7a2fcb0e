"""Documents: translate their texts and preserve everything else byte for byte.

A format finds slots: spans of the source that a translation replaces. Everything outside slots with
a changed translation is copied from the source.
"""

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

from seqloom.documents.encoding import TextEncoding, decode_bytes
from seqloom.errors import ConfigError, DataError
from seqloom.registry import Family
from seqloom.remedies import Phrase

__all__ = [
    "DOCUMENT_FORMATS",
    "Document",
    "DocumentFormat",
    "DocumentOptions",
    "DocumentSource",
    "Patch",
    "Segment",
    "SideEdit",
    "Slot",
    "is_document",
    "open_document",
]

NEWLINE = re.compile(r"\r\n|\r|\n")
Patch = Callable[[int, int], str]


@dataclass(frozen=True)
class DocumentOptions:
    """How a document is read and filled in.

    `replace` also offers segments of XLIFF, PO and TMX that have a translation. The languages, such
    as `de` or `de-AT`, select the variants of a TMX file.
    """

    format: str | None = None  # None: by file extension
    encoding: str | None = None  # None: as declared by the file, or UTF-8
    replace: bool = False
    source_language: str | None = None
    target_language: str | None = None


@dataclass(frozen=True)
class Segment:
    """A text to translate; `codes` are its tags, which the translation must keep in order."""

    text: str
    place: str  # file:line
    name: str = ""  # its id or context in the file
    codes: tuple[str, ...] = ()
    translation: str | None = None  # the existing translation in a bilingual file


@dataclass(frozen=True)
class SideEdit:
    """An edit that accompanies a translation, such as a flag."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Slot:
    """The place of a segment's translation: `write` renders the text that replaces start to end.

    `write` gets the translation and a function that returns any span of the source with the
    translations inside it. A translation equal to `current` changes nothing.
    """

    segment: Segment
    start: int
    end: int
    write: Callable[[str, Patch], str]
    current: str | None
    side: SideEdit | None = None


@dataclass(frozen=True)
class DocumentSource:
    """The text of a document, with its name and lines."""

    name: str
    text: str
    encoding: TextEncoding
    options: DocumentOptions

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of each line; lines end with LF, CR LF or CR."""
        return [0, *(found.end() for found in NEWLINE.finditer(self.text))]

    def line(self, offset: int) -> int:
        """The line number of an offset, from 1."""
        return bisect_right(self.line_starts, offset)

    def place(self, offset: int) -> str:
        """The name of the file and the line."""
        return f"{self.name}:{self.line(offset)}"

    def error(self, offset: int, message: str, remedy: Phrase = "") -> DataError:
        """An error at an offset; the message states the problem and may state a remedy."""
        return DataError(message, place=self.place(offset), remedy=remedy)

    def newline(self, start: int = 0, end: int | None = None) -> str:
        """The line ending within a span, or else of the document, or LF."""
        found = NEWLINE.search(self.text, start, len(self.text) if end is None else end)
        found = found or NEWLINE.search(self.text)
        return found[0] if found else "\n"


class DocumentFormat(ABC):
    """A document format: its file extensions, and how to find translatable texts."""

    endings: ClassVar[tuple[str, ...]]
    references: ClassVar[bool] = False  # whether &#8364; is a character reference
    is_lines: ClassVar[bool] = False  # whether such files may also be lists of lines

    def declared_encoding(self, data: bytes) -> str | None:
        """The encoding that the file declares, if any."""
        return None

    @abstractmethod
    def slots(self, source: DocumentSource) -> Iterable[Slot]:
        """The slots of a document; DataError with the place if it is malformed."""


DOCUMENT_FORMATS: Family[DocumentOptions, type[DocumentFormat]] = Family(
    "document format", home="seqloom.documents.formats"
)


@dataclass(frozen=True)
class Document:
    """A parsed document that can be written with translations."""

    source: DocumentSource
    slots: tuple[Slot, ...]
    references: bool

    @property
    def segments(self) -> list[Segment]:
        """The texts to translate, in document order."""
        return [slot.segment for slot in self.slots]

    def with_translations(self, translations: Sequence[str]) -> bytes:
        """Render the document with a translation for each segment.

        A segment stays unchanged if its translation is blank or equal to the current one.
        """
        if len(translations) != len(self.slots):
            raise ValueError(f"{len(self.slots)} segments need as many, not {len(translations)}")
        chosen = [
            (slot, translation)
            for slot, translation in zip(self.slots, translations, strict=True)
            if translation.strip() and translation != slot.current
        ]
        edits = _Edits(self.source.text, chosen)
        text = edits.apply_edits(0, len(self.source.text))
        encoding, name = self.source.encoding, self.source.name
        return encoding.encode(text, name, references=self.references)


class _Edits:
    """Edits of a text in order of position; they may be nested."""

    def __init__(self, text: str, chosen: Sequence[tuple[Slot, str]]) -> None:
        self.text = text
        sides = {slot.side for slot, _ in chosen if slot.side is not None}
        edits: list[tuple[int, int, Callable[[], str]]] = [
            (side.start, side.end, partial(str, side.text)) for side in sides
        ]
        edits += [
            (slot.start, slot.end, partial(slot.write, said, self.apply_edits))
            for slot, said in chosen
        ]
        self.edits = sorted(edits, key=lambda edit: (edit[0], -edit[1]))
        self.starts = [edit[0] for edit in self.edits]

    def apply_edits(self, start: int, end: int) -> str:
        """A span of the text with the edits inside it applied."""
        pieces, position = [], start
        first, last = bisect_left(self.starts, start), bisect_right(self.starts, end)
        for low, high, write in self.edits[first:last]:
            if position <= low and high <= end:
                pieces += [self.text[position:low], write()]
                position = high
        return "".join([*pieces, self.text[position:end]])


def _document_format(name: str) -> str | None:
    """The format of a file extension, gzipped or not; None if unknown."""
    bare = name.lower().removesuffix(".gz")
    return next((kind for ending, kind in _endings().items() if bare.endswith(ending)), None)


def is_document(name: str) -> bool:
    """Whether the file extension is that of a document, and not of a list of lines."""
    kind = _document_format(name)
    return kind is not None and not DOCUMENT_FORMATS.parts[kind].is_lines


def open_document(data: bytes, name: str, *, options: DocumentOptions | None = None) -> Document:
    """Parse a document, in the format of its name or of the options.

    DataError names the place of malformed content, ConfigError an unknown format.
    """
    options = options or DocumentOptions()
    kind = options.format or _format_of(name)
    format_ = DOCUMENT_FORMATS.parts[kind]()
    declared = options.encoding or format_.declared_encoding(data)
    text, encoding = decode_bytes(data, name, declared=declared)
    source = DocumentSource(name, text, encoding, options)
    slots = sorted(format_.slots(source), key=lambda slot: (slot.start, -slot.end))
    return Document(source, tuple(slots), format_.references)


def _format_of(name: str) -> str:
    """The format of a file extension."""
    found = _document_format(name)
    if found is None:
        raise ConfigError(
            "no document format has this ending",
            place=name,
            remedy=(
                f"name the file with one of {', '.join(_endings())}, or choose one of "
                f"{', '.join(_formats())} as its format"
            ),
        )
    return found


def _endings() -> dict[str, str]:
    """The format of each extension."""
    return {ending: kind for kind in _formats() for ending in DOCUMENT_FORMATS.parts[kind].endings}


def _formats() -> list[str]:
    import seqloom.documents.formats  # noqa: F401  registers the built-in formats

    return DOCUMENT_FORMATS.kinds()
