"""Gettext PO: fill in missing translations, marked fuzzy.

Entries are read by their lines; what is written is the file itself with only the texts of filled
entries and their flags changed. Obsolete entries are comments.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from seqloom.documents.document import (
    DOCUMENT_FORMATS,
    DocumentFormat,
    DocumentSource,
    Patch,
    Segment,
    SideEdit,
    Slot,
)
from seqloom.errors import DataError

__all__ = ["PoFormat"]

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
ENTRY = re.compile(
    r'\s*(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*)?("(?:[^"\\]|\\.)*")\s*'
)
CHARSET = re.compile(rb"Content-Type:[^\n]*?charset=([A-Za-z0-9_.:-]+)")
FORMS = re.compile(r"Plural-Forms:\s*nplurals\s*=\s*(\d+)")
CURE = "mend it; msgfmt -c tells more"


class _PoText(NamedTuple):
    """A text of an entry: its span with quotes, and its content."""

    start: int
    end: int
    said: str


@dataclass
class _PoEntry:
    """An entry: its start, preceding comments, and texts by keyword."""

    start: int
    comments: list[tuple[int, str]]
    texts: dict[str, _PoText] = field(default_factory=dict)

    @property
    def forms(self) -> list[_PoText]:
        """Its translations."""
        return [text for name, text in self.texts.items() if name.startswith("msgstr")]

    def text_of(self, keyword: str) -> str | None:
        """The text of a keyword."""
        text = self.texts.get(keyword)
        return None if text is None else text.said


@DOCUMENT_FORMATS.part("po")
class PoFormat(DocumentFormat):
    """Each plural form is a segment: the first translates the singular, the others the plural."""

    endings = (".po", ".pot")

    def declared_encoding(self, data: bytes) -> str | None:
        """The charset of the header; a template's placeholder CHARSET counts as none."""
        found = CHARSET.search(data)
        name = found[1].decode().removesuffix("\\n") if found else "CHARSET"
        return None if name == "CHARSET" else name

    def slots(self, source: DocumentSource) -> Iterator[Slot]:
        """The slots of untranslated entries, or of all."""
        entries = list(_Reader(source).entries())
        header = next((each for each in entries if not each.text_of("msgid")), None)
        found = FORMS.search(header.text_of("msgstr") or "") if header else None
        for entry in entries:
            if entry is not header:
                yield from _entry_slots(source, entry, int(found[1][:9]) if found else None)


class _Reader:
    """Parses a file's entries line by line."""

    def __init__(self, source: DocumentSource) -> None:
        self.source = source
        self.comments: list[tuple[int, str]] = []
        self.entry: _PoEntry | None = None
        self.keyword = ""  # of the text that the next line may continue

    def entries(self) -> Iterator[_PoEntry]:
        """Yield each complete entry."""
        for found in LINE.finditer(self.source.text):
            start, line = found.start(), found[1]
            if line.lstrip().startswith("#"):
                self.comments.append((start, line))
                self.keyword = ""
            elif line.strip():
                done = self._read(start, line)
                if done is not None:
                    yield done
        if self.entry is not None:
            yield self._whole(self.entry)

    def _read(self, start: int, line: str) -> _PoEntry | None:
        """Process a line; return the previous entry if the line starts another."""
        found = ENTRY.fullmatch(line)
        if found is None:
            raise self._error(start, f'is no line of a PO file, such as msgid "text"; {CURE}')
        text = _PoText(start + found.start(2), start + found.end(2), _unescape(found[2]))
        if found[1] is None:
            self._continue(start, text)
            return None
        done = None
        starts = found[1] == "msgctxt" or (
            found[1] == "msgid" and (self.entry is None or list(self.entry.texts) != ["msgctxt"])
        )
        if starts:
            done = None if self.entry is None else self._whole(self.entry)
            self.entry = _PoEntry(start, self.comments)
            self.comments = []
        self._add(start, found[1], text)
        return done

    def _continue(self, start: int, text: _PoText) -> None:
        if self.entry is None or not self.keyword:
            raise self._error(start, f"a text has no keyword such as msgid before it; {CURE}")
        before = self.entry.texts[self.keyword]
        whole = _PoText(before.start, text.end, before.said + text.said)
        self.entry.texts[self.keyword] = whole

    def _add(self, start: int, keyword: str, text: _PoText) -> None:
        known = [] if self.entry is None else list(self.entry.texts)
        if self.entry is None or not _may_follow(keyword, known):
            after = f"after {known[-1]}" if known else "before msgid"
            raise self._error(start, f"{keyword} cannot stand {after}; {CURE}")
        self.entry.texts[keyword] = text
        self.keyword = keyword

    def _whole(self, entry: _PoEntry) -> _PoEntry:
        if not entry.forms:
            raise self._error(entry.start, 'the entry has no msgstr; add msgstr ""')
        return entry

    def _error(self, offset: int, message: str) -> DataError:
        return self.source.error(offset, message)


def _may_follow(keyword: str, known: list[str]) -> bool:
    """Whether a keyword may follow those of an entry."""
    last = known[-1] if known else ""
    match keyword:
        case "msgctxt":
            return not known
        case "msgid":
            return known in ([], ["msgctxt"])
        case "msgid_plural" | "msgstr":
            return last == "msgid"
        case _:
            forms = [each for each in known if each.startswith("msgstr[")]
            return last in ("msgid_plural", *forms) and keyword == f"msgstr[{len(forms)}]"


def _entry_slots(source: DocumentSource, entry: _PoEntry, needed: int | None) -> Iterator[Slot]:
    """A slot for each form of an entry that lacks a translation, or for each form."""
    plural = entry.text_of("msgid_plural")
    forms = entry.forms
    empty = [form for form in forms if not form.said]
    if plural is not None and empty and needed is not None and len(forms) < needed:
        raise source.error(
            entry.start, f"the entry has {len(forms)} of {needed} plural forms; run msgmerge on it"
        )
    for number, form in enumerate(forms):
        singular = plural is None or (number == 0 and len(forms) > 1)
        text = entry.text_of("msgid") if singular else plural
        if text and text.strip() and (not form.said or source.options.replace):
            segment = Segment(
                text.strip(),
                source.place(entry.start),
                entry.text_of("msgctxt") or "",
                translation=form.said.strip() or None,
            )
            write = _PoWriter(text, source.newline())
            side = _fuzzy_flag(source, entry)
            yield Slot(segment, form.start, form.end, write, segment.translation, side)


class _PoWriter:
    """Writes a translation with the original's surrounding white space."""

    def __init__(self, original: str, newline: str) -> None:
        self.before = original[: len(original) - len(original.lstrip())]
        self.after = original[len(original.rstrip()) :]
        self.newline = newline

    def __call__(self, translation: str, _: Patch) -> str:
        from babel.messages.pofile import normalize

        text = f"{self.before}{translation.strip()}{self.after}"
        return normalize(text).replace("\n", self.newline)


def _fuzzy_flag(source: DocumentSource, entry: _PoEntry) -> SideEdit | None:
    """The edit that marks an entry fuzzy: a flag among its flags, or a new line before it."""
    place = entry.start
    for start, line in reversed(entry.comments):
        if line.startswith("#~"):
            break
        if line.startswith("#,"):
            flags = [flag.strip() for flag in line[2:].split(",")]
            at = start + len("#,")
            return None if "fuzzy" in flags else SideEdit(at, at, " fuzzy,")
        place = start if line.startswith("#|") else place
    return SideEdit(place, place, f"#, fuzzy{source.newline()}")


def _unescape(quoted: str) -> str:
    from babel.messages.pofile import unescape

    return unescape(quoted)
