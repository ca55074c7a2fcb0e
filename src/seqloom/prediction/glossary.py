"""A glossary: terms of the source, and the words that their translations must or should have."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from seqloom.data import FileLocation, read_lines
from seqloom.errors import DataError

__all__ = ["Glossary", "GlossaryTerm", "TermCount"]

SEPARATOR = "|"
STRENGTHS = {"": True, "required": True, "preferred": False}
MARGIN = 0.5  # of the score that outputs are ranked by: by default, nats per token
LONGEST_LINE = 100_000
CURE = "write term, tab, translation, with | between inflected forms"


@dataclass(frozen=True)
class GlossaryTerm:
    """A term, in any of its source forms, and the target forms of which one is written for it.

    One that is only preferred is left out where it would make an output much less likely.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    required: bool = True

    def is_in(self, text: str) -> bool:
        """Whether a translation has one of the target forms."""
        return _whole_words(self.target).search(text) is not None


@dataclass(frozen=True)
class TermCount:
    """How many terms were asked for in all translations, and how many of them came out."""

    wanted: int = 0
    found: int = 0

    def __add__(self, other: "TermCount") -> "TermCount":
        return TermCount(self.wanted + other.wanted, self.found + other.found)

    @property
    def share(self) -> float:
        """The share of terms that came out; 1 where none was asked for."""
        return self.found / self.wanted if self.wanted else 1.0

    def __str__(self) -> str:
        return f"{self.found:,} of {self.wanted:,} ({self.share:.1%})"


@dataclass(frozen=True)
class Glossary:
    """Terms, and how much lower an output with a preferred term may score."""

    terms: tuple[GlossaryTerm, ...]
    margin: float = MARGIN

    @classmethod
    def read(cls, path: Path) -> "Glossary":
        """The terms of a file: `term<TAB>form|form`, and in a third column `preferred`.

        DataError with the line where a side is empty; blank lines are passed by.
        """
        lines = read_lines(path, max_line=LONGEST_LINE)
        terms = [
            _read_term(line, FileLocation(str(path), number))
            for number, line in enumerate(lines, 1)
            if line.strip()
        ]
        if not terms:
            raise DataError("there are no terms in it", place=path, remedy=CURE)
        return cls(tuple(terms))

    def find(self, text: str) -> tuple[GlossaryTerm, ...]:
        """The terms in a source text, each once; of those that overlap, the longest."""
        forms = (match[0].casefold() for match in self._pattern.finditer(text))
        return tuple(dict.fromkeys(self._by_form[form] for form in forms if form in self._by_form))

    def count(self, source: str, translation: str) -> TermCount:
        """How many terms of a source text its translation should have, and has."""
        terms = self.find(source)
        return TermCount(len(terms), sum(term.is_in(translation) for term in terms))

    @cached_property
    def _by_form(self) -> dict[str, GlossaryTerm]:
        return {form.casefold(): term for term in reversed(self.terms) for form in term.source}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return _whole_words([form for term in self.terms for form in term.source])


def _read_term(line: str, place: FileLocation) -> GlossaryTerm:
    cells = [cell.strip() for cell in line.split("\t")]
    if len(cells) not in (2, 3):
        raise DataError(f"expected 2 or 3 columns, found {len(cells)}", place=place, remedy=CURE)
    sides = [tuple(filter(None, map(str.strip, cell.split(SEPARATOR)))) for cell in cells[:2]]
    for side, name in zip(sides, ("term", "translation"), strict=True):
        if not side:
            raise DataError(f"the {name} is empty", place=place, remedy=CURE)
    strength = cells[2] if len(cells) > 2 else ""
    if strength not in STRENGTHS:
        raise DataError(
            f"a term cannot be {strength!r}", place=place, remedy="write required or preferred"
        )
    return GlossaryTerm(sides[0], sides[1], STRENGTHS[strength])


def _whole_words(forms: Iterable[str]) -> re.Pattern[str]:
    """Any of these as whole words, whatever their case, the longest first.

    Scripts without spaces between words have no edges of words to look for.
    """
    longest_first: Sequence[str] = sorted(set(forms), key=len, reverse=True)
    return re.compile("|".join(map(_whole_word, longest_first)), re.IGNORECASE)


def _whole_word(form: str) -> str:
    before = r"(?<!\w)" if _has_spaces(form[0]) else ""
    after = r"(?!\w)" if _has_spaces(form[-1]) else ""
    return f"{before}{re.escape(form)}{after}"


def _has_spaces(character: str) -> bool:
    """Whether the script of a letter separates words by spaces: not Thai to Khmer, nor CJK."""
    return character.isalnum() and not (
        "\u0e00" <= character <= "\u0eff"
        or "\u1000" <= character <= "\u109f"
        or "\u1780" <= character <= "\u17ff"
        or "\u2e80" <= character <= "\u9fff"
        or "\U00020000" <= character <= "\U0003ffff"
    )
