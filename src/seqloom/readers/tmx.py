"""TMX translation memories: the variants of a unit in two languages are the columns of a row.

The XML is streamed by a parser that refuses entities and external resources.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax import ContentHandler, SAXParseException

from seqloom.config import DataConfig
from seqloom.errors import DataError
from seqloom.readers.lines import (
    READ_ERRORS,
    Fault,
    FileLocation,
    Reason,
    map_sound,
    open_text,
    read_error,
)
from seqloom.readers.reader import READERS, ColumnSelection, FileReader, Record

__all__ = ["TmxReader", "tmx_rows"]

CHUNK = 1 << 16
SPACE = " \t\r\n"  # of XML
CODES = ("bpt", "ept", "it", "ph", "ut")  # whose content is markup of another format


@READERS.part("tmx")
class TmxReader(FileReader):
    """Reads TMX files."""

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """A row for each unit that has the wanted languages."""
        return tmx_rows(path, ColumnSelection.of(config), max_line=config.max_line)


def tmx_rows(path: Path, wanted: ColumnSelection, *, max_line: int) -> Iterator[Record | Fault]:
    """A row for each unit that has the wanted languages; those without are passed by and counted.

    A language is asked for as the file writes it (`en-GB`) or by its beginning (`en`), whatever the
    case; by position, as the first unit that has so many.
    """
    variants = _LanguageSelector(wanted)
    yield from map_sound(_units(path, _UnitHandler(str(path), max_line)), variants.select)
    variants.check(str(path))


class _LanguageSelector:
    """Picks the wanted languages of each unit, which the first unit settles."""

    def __init__(self, wanted: ColumnSelection) -> None:
        self._wanted = wanted
        self._chosen: list[str] = []
        self._languages: dict[str, None] = {}
        self._found = False

    def select(self, unit: "_TranslationUnit") -> Record | Fault:
        """The texts of a unit, or the fault of one that lacks a language."""
        self._chosen = self._chosen or _languages(self._wanted, list(unit.texts))
        self._languages |= dict.fromkeys(unit.texts)
        texts = [text for text in map(unit.text, self._chosen) if text is not None]
        if len(texts) != len(self._wanted.columns):
            return Fault(Reason.LANGUAGE, unit.place, "a language is missing", "add it")
        self._found = True
        return Record(unit.place, texts)

    def check(self, file: str) -> None:
        """DataError where a language is in no unit."""
        for language in [] if self._found else self._chosen:
            if not any(_matches_language(language, each) for each in self._languages):
                self._wanted.find(language, list(self._languages), file)


class _TranslationUnit:
    """One unit while it is read, and afterwards."""

    def __init__(self, place: FileLocation) -> None:
        self.place = place
        self.texts: dict[str, str] = {}

    def text(self, language: str) -> str | None:
        """The text in a language: that of its very name, or of the first that begins with it."""
        exact = [each for each in self.texts if _fold_case(each) == _fold_case(language)]
        near = [each for each in self.texts if _matches_language(language, each)]
        return self.texts[(exact or near)[0]] if near else None


class _UnitHandler(ContentHandler):
    """Collects units as their elements come in."""

    def __init__(self, file: str, most: int) -> None:
        super().__init__()
        self.file = file
        self.most = most
        self.done: list[_TranslationUnit | Fault] = []
        self.line: Callable[[], int] = int  # where the parser is
        self._begun = False
        self._unit: _TranslationUnit | None = None
        self._fault: Fault | None = None
        self._language: str | None = None
        self._variant = FileLocation(file, 1)
        self._text: list[str] | None = None  # of the segment that is open
        self._length = 0
        self._codes = 0  # elements of markup that are open

    def startElement(self, name: str, attrs: Any) -> None:
        """An element opens."""
        if not self._begun and name.lower() != "tmx":
            raise DataError(
                f"is XML and no TMX: it begins with <{name}>",
                place=self.file,
                remedy="name another",
            )
        self._begun = True
        match name.lower():
            case "tu":
                self._unit, self._fault = _TranslationUnit(self._place()), None
            case "tuv":
                self._language = attrs.get("xml:lang") or attrs.get("lang")
                self._variant = self._place()
            case "seg" if self._unit is not None:
                self._text, self._length = [], 0
            case code if code in CODES:
                self._codes += 1

    def characters(self, content: str) -> None:
        """A piece of text."""
        if self._text is not None and not self._codes and self._length <= self.most:
            self._text.append(content)
            self._length += len(content)

    def endElement(self, name: str) -> None:
        """An element closes."""
        match name.lower():
            case "seg" if self._unit is not None and self._text is not None:
                self._add("".join(self._text))
                self._text = None
            case "tu" if self._unit is not None:
                self.done.append(self._fault or self._unit)
                self._unit = None
            case code if code in CODES:
                self._codes -= 1

    def skippedEntity(self, name: str) -> None:
        """An entity that is declared nowhere in the file, whose text would be lost."""
        if self._unit is not None:
            problem = f"the entity &{name}; is not declared"
            self._fault = self._fault or Fault(
                Reason.VALUE, self._place(), problem, "write its text"
            )

    def _add(self, text: str) -> None:
        unit, language = self._unit, self._language
        if unit is not None and language is None:
            problem = "a variant has no xml:lang"
            self._fault = self._fault or Fault(
                Reason.MISSING, self._variant, problem, "say its language"
            )
        elif unit is not None and language is not None:
            unit.texts.setdefault(language, text.strip(SPACE))

    def _place(self) -> FileLocation:
        return FileLocation(self.file, self.line())


def _units(path: Path, units: _UnitHandler) -> Iterator[_TranslationUnit | Fault]:
    """The units of a file, as soon as each is whole."""
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]
    from defusedxml.expatreader import create_parser  # type: ignore[import-untyped]

    parser = create_parser(forbid_external=False)  # the DTD that most files name; none is read
    parser.setContentHandler(units)
    units.line = parser.getLineNumber
    try:
        with open_text(path) as stream:
            while chunk := stream.read(CHUNK):
                parser.feed(chunk)
                yield from units.done
                units.done.clear()
        parser.close()
    except READ_ERRORS as error:
        raise read_error(error, str(path)) from None
    except SAXParseException as error:
        place, cause = f"{path}:{error.getLineNumber()}", error.getMessage()
        raise DataError(
            f"is not well-formed XML ({cause})", place=place, remedy="write it again"
        ) from None
    except DefusedXmlException:
        line = parser.getLineNumber()
        cure = "write their text in their place"
        raise DataError(
            f"{path}:{line}: declares entities, which are refused", remedy=cure
        ) from None
    except (LookupError, ValueError) as error:
        raise DataError(
            f"cannot be decoded ({error})", place=path, remedy="save it as UTF-8"
        ) from None


def _languages(wanted: ColumnSelection, names: list[str]) -> list[str]:
    """The languages that are asked for; none where a unit has fewer than a position counts."""
    positions = [int(each) for each in wanted.columns if each.isdecimal()]
    if not all(1 <= position <= len(names) for position in positions):
        return []
    return [names[int(each) - 1] if each.isdecimal() else each for each in wanted.columns]


def _matches_language(language: str, name: str) -> bool:
    """Whether `en` or `en-gb` is asked for and `en-GB` is there."""
    return f"{_fold_case(name)}-".startswith(f"{_fold_case(language)}-")


def _fold_case(name: str) -> str:
    return name.lower().replace("_", "-")
