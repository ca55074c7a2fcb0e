"""Gettext PO: translated entries as rows.

Babel reads the entries. Before that each line is held against the form it must have, since babel
would cut letters off one that lacks its quotes. `seqloom.documents` fills entries in.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.config import DataConfig
from seqloom.errors import DataError
from seqloom.readers.lines import Fault, FileLocation, Reason, split_faults, text_lines
from seqloom.readers.reader import READERS, ColumnSelection, FileReader, Record

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog, Message

__all__ = ["PoFile", "PoReader", "po_rows"]

COLUMNS = ("msgid", "msgstr", "msgctxt")
KEYWORD = r"msgctxt|msgid|msgid_plural|msgstr(?:\[\d\])?"
LINE = re.compile(rf'(?:({KEYWORD})\s*)?("(?:[^"\\]|\\.)*")')
FORMS = re.compile(r"Plural-Forms:[^\\]*?nplurals\s*=\s*(\d+)[^\\]*")
MOST_FORMS = 10
CURE = "mend it; msgfmt -c tells more"


@dataclass(frozen=True)
class PoFile:
    """A PO file as lines and as parsed by babel."""

    path: Path
    lines: list[str]
    faults: dict[int, Fault]  # lines that cannot be read, by their number from 0
    catalog: "Catalog"

    @classmethod
    def read(cls, path: Path, *, max_line: int) -> "PoFile":
        """All entries; DataError with the line where it is no PO file."""
        lines: list[str] = []
        faults: dict[int, Fault] = {}
        for number, (line, fault) in enumerate(split_faults(text_lines(path, max_line=max_line))):
            if fault is not None:
                faults[number] = fault
            lines.append(_check_line(line or "", fault, FileLocation(str(path), number + 1)))
        return cls(path, lines, faults, _parse_catalog(path, lines))

    def messages(self) -> Iterator["Message"]:
        """The entries that are in use, in order, without the header."""
        return (message for message in self.catalog if message.id)

    def fault(self, message: "Message") -> Fault | None:
        """The first line of an entry that cannot be read."""
        line = (message.lineno or 1) - 1
        own = range(self._start(line), self._end(line))  # without comments
        return next((self.faults[number] for number in own if number in self.faults), None)

    def _start(self, line: int) -> int:
        """The first line of an entry: that of its context, where it has one."""
        start = line - 1
        while start > 0 and self.lines[start].lstrip().startswith('"'):
            start -= 1
        return start if start >= 0 and self.lines[start].startswith("msgctxt") else line

    def _end(self, line: int) -> int:
        """The line after an entry."""
        end = line + 1
        while end < len(self.lines) and self.lines[end].lstrip().startswith(
            ('"', "msgid_plural", "msgstr")
        ):
            end += 1
        return end


@READERS.part("po")
@READERS.part("pot")
class PoReader(FileReader):
    """Reads PO files."""

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """A row for each translated entry."""
        return po_rows(path, ColumnSelection.of(config), max_line=config.max_line)


def po_rows(path: Path, wanted: ColumnSelection, *, max_line: int) -> Iterator[Record | Fault]:
    """A row for each translated entry, and for each form of one with plurals.

    Its columns are msgid, msgstr and msgctxt. Entries that are fuzzy, obsolete or without a
    translation are passed by and counted. The singular goes with the first form, the plural with
    each of the others, or with the only one.
    """
    file = PoFile.read(path, max_line=max_line)
    chosen = wanted.find_all(COLUMNS, str(path))
    for message in file.messages():
        fault = file.fault(message)
        place = FileLocation(str(path), message.lineno or 1)
        if fault is not None:
            yield fault
        elif message.fuzzy:
            yield Fault(Reason.FUZZY, place, "the translation is fuzzy", "check it")
        else:
            for pair in _pairs(message):
                cells = [text.strip("\n") for text in (*pair, message.context or "")]
                if cells[1]:
                    yield Record(place, [cells[index] for index in chosen])
                else:
                    yield Fault(Reason.UNTRANSLATED, place, "there is no translation", "add it")
    for message in file.catalog.obsolete.values():
        place = FileLocation(str(path), message.lineno or 1)
        yield Fault(Reason.OBSOLETE, place, "the entry is obsolete", "remove it")


def _pairs(message: "Message") -> Iterator[tuple[str, str]]:
    """What each form translates, and how."""
    ids, strings = _forms(message.id), _forms(message.string)
    yield ids[0], strings[0]
    if len(ids) > 1:
        yield from ((ids[1], string) for string in strings[1:] or strings)


def _forms(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple | list) else (str(value or ""),)


def _check_line(line: str, fault: Fault | None, place: FileLocation) -> str:
    """A line without the spaces around it; DataError unless it is a comment, blank, or a keyword
    and a text in quotes, as far as it can be read."""
    text = (line if fault is None else fault.text or "").strip()
    if text.startswith("#") or (not text and fault is None):
        return text
    found = LINE.fullmatch(text)
    if found is None and fault is not None:
        raise DataError(fault.problem, place=place, remedy=fault.remedy)
    if found is None:
        raise DataError('is no line of a PO file, such as msgid "text"', place=place, remedy=CURE)
    return " ".join(filter(None, found.groups()))


def _parse_catalog(path: Path, lines: Sequence[str]) -> "Catalog":
    from babel.messages.pofile import PoFileError, read_po

    try:
        return read_po(_relevant_lines(path, lines), abort_invalid=True)
    except PoFileError as error:
        cause = str(error).rpartition(" on ")[0].replace("\n", r"\n")  # of the texts it quotes
        raise DataError(f"{path}:{error.lineno + 1}: {cause}", remedy=CURE) from None
    except (ValueError, LookupError) as error:
        raise DataError(
            f"is no PO file that can be read ({error})", place=path, remedy=CURE
        ) from None


def _relevant_lines(path: Path, lines: Sequence[str]) -> Iterator[str]:
    """The lines with all blank that tells nothing of translations, and might yet be refused: most
    comments, and of headers all but the number of plural forms."""
    skipped = 0
    for number, line in enumerate(lines):
        if number < skipped or (line.startswith("#") and not line.startswith(("#,", "#~ "))):
            yield ""
        elif line.startswith("msgstr ") and _is_header(lines, number):
            rest = range(number + 1, len(lines))
            skipped = next((each for each in rest if lines[each][:1] != '"'), len(lines))
            whole = "".join(each.partition('"')[2][:-1] for each in lines[number:skipped])
            yield f'msgstr "{_plural_forms(whole, FileLocation(str(path), number + 1))}"'
        else:
            yield line


def _is_header(lines: Sequence[str], number: int) -> bool:
    """Whether the translation on a line is that of an empty text."""
    start = number - 1
    while start > 0 and lines[start] in {"", '""'}:
        start -= 1
    return start >= 0 and lines[start] == 'msgid ""'


def _plural_forms(header: str, place: FileLocation) -> str:
    found = FORMS.search(header)
    if found is None:
        return ""
    if not 1 <= int(found[1][:9]) <= MOST_FORMS:
        raise DataError(
            f"no language has {found[1][:9]} plural forms", place=place, remedy="mend the header"
        )
    return f"{found[0]}\\n"
