"""Glossaries: source terms with their required or preferred translations."""

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
MARGIN = 0.5  # in units of the ranking score: by default, nats per token
LONGEST_LINE = 100_000
CURE = "write term, tab, translation, with | between inflected forms"


@dataclass(frozen=True)
class GlossaryTerm:
    """A term with its source forms and its target forms, one of which is required.

    A preferred term is left out if it would make an output much less probable.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    required: bool = True

    def is_in(self, text: str) -> bool:
        """Whether a translation contains one of the target forms."""
        return _whole_words(self.target).search(text) is not None


@dataclass(frozen=True)
class TermCount:
    """Counts of terms required in translations and of those found."""

    wanted: int = 0
    found: int = 0

    def __add__(self, other: "TermCount") -> "TermCount":
        return TermCount(self.wanted + other.wanted, self.found + other.found)

    @property
    def share(self) -> float:
        """The share of terms found; 1 if none was required."""
        return self.found / self.wanted if self.wanted else 1.0

    def __str__(self) -> str:
        return f"{self.found:,} of {self.wanted:,} ({self.share:.1%})"


@dataclass(frozen=True)
class Glossary:
    """Terms, and the largest loss of score for a preferred term."""

    terms: tuple[GlossaryTerm, ...]
    margin: float = MARGIN

    @classmethod
    def read(cls, path: Path) -> "Glossary":
        """Read terms from a file: `term<TAB>form|form`, and `preferred` in a third column.

        DataError with the line if a side is empty; blank lines are skipped.
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
        """The distinct terms in a source text; of overlapping ones, the longest."""
        forms = (match[0].casefold() for match in self._pattern.finditer(text))
        return tuple(dict.fromkeys(self._by_form[form] for form in forms if form in self._by_form))

    def count(self, source: str, translation: str) -> TermCount:
        """Count the terms of a source text and those found in its translation."""
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
    """A pattern for any of these as whole words, ignoring case, longest first.

    Scripts without spaces between words are matched without word boundaries.
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
