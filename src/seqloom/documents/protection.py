"""Protect parts of a text from translation: replace them by placeholders, and restore them after.

Tags, placeholders, addresses, codes, numbers and a user's own terms become stand-ins, short forms
that a model is likely to copy, or stay literal and are only checked afterwards. Anything missing
from the output is reported.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from seqloom.documents.protected_kinds import PATTERNS, term_pattern
from seqloom.errors import ConfigError

__all__ = ["ProtectedText", "ProtectionOptions", "Restored", "protect"]

MARKUP = "markup"
TERM = "term"
ALL = (MARKUP, TERM, *(kind for kind in PATTERNS if kind != MARKUP))


@dataclass(frozen=True)
class ProtectionOptions:
    """What to protect and how.

    `stand_in` has `{}` for its number. `copied` kinds stay literal, for models that copy them;
    `ignored` kinds are not protected. `terms` are case-sensitive words to keep.
    """

    stand_in: str = "⟦{}⟧"
    first: int = 0
    copied: frozenset[str] = frozenset({"number"})
    ignored: frozenset[str] = frozenset()
    terms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.stand_in.count("{}") != 1 or re.search(r"\d", self.stand_in):
            raise ConfigError(
                f"the stand-in {self.stand_in!r} needs {{}} once, where its number goes, and no "
                "digits of its own",
                remedy="choose one such as 'X{}X'",
            )
        for kind in sorted(self.copied | self.ignored):
            if kind not in ALL:
                raise ConfigError(
                    f"nothing protected is a {kind!r}", remedy=f"choose of {', '.join(ALL)}"
                )


class Restored(NamedTuple):
    """A text with protected parts restored, and the parts that are missing."""

    text: str
    lost: list[str]


class _Find(NamedTuple):
    """A protected part of a text."""

    start: int
    end: int
    kind: str


class _StandIn(NamedTuple):
    """The original of a stand-in, and whether a space was added before and after it."""

    original: str
    before: bool
    after: bool


@dataclass(frozen=True)
class ProtectedText:
    """A text for a model, and the originals of its stand-ins."""

    text: str
    shape: str  # the text with stand-ins masked by letters and brackets, for sentence splitting
    stand_ins: dict[str, str]
    copies: tuple[str, ...]
    _numbers: dict[int, _StandIn]
    _pattern: re.Pattern[str]

    def restore(self, output: str) -> Restored:
        """Restore the stand-ins of a model's output, whose spaces and case may differ."""
        pieces: list[str] = []
        seen: set[int] = set()
        position = 0
        for found in self._pattern.finditer(output):
            number = int(found["number"])
            if number in self._numbers:
                stand_in = self._numbers[number]
                between = output[position : found.start()]
                pieces += [_without_last_space(between) if stand_in.before else between]
                pieces.append(stand_in.original)
                position = found.end()
                position += stand_in.after and output[position : position + 1].isspace()
                seen.add(number)
        text = "".join([*pieces, output[position:]])
        lost = [each.original for number, each in self._numbers.items() if number not in seen]
        return Restored(text, [*lost, *_missing(self.copies, text)])


def _without_last_space(text: str) -> str:
    return text[:-1] if text[-1:].isspace() else text


def protect(
    text: str, *, codes: Sequence[str] = (), options: ProtectionOptions | None = None
) -> ProtectedText:
    """Replace protected parts by stand-ins; `codes` are a segment's own tags."""
    options = options or ProtectionOptions()
    finds = list(_finds(text, codes, options))
    pattern = _pattern(options.stand_in)
    taken = {int(found["number"]) for found in pattern.finditer(text)}
    numbers = (number for number in count(options.first) if number not in taken)
    writer = _StandInWriter(options.stand_in)
    starts = {find.start for find in finds}
    position, copies = 0, []
    for find in finds:
        writer.add(text[position : find.start])
        original = text[find.start : find.end]
        if find.kind in options.copied:
            copies.append(original)
            writer.add(original, mask="A")
        else:
            follows = find.end < len(text) and text[find.end].isalnum()
            mask = ")" if find.kind == MARKUP else "A"
            writer.stand_in(next(numbers), original, pad=follows or find.end in starts, mask=mask)
        position = find.end
    writer.add(text[position:])
    return writer.finish(copies, pattern)


class _StandInWriter:
    """Builds a text with stand-ins."""

    def __init__(self, form: str) -> None:
        self.form = form
        self.loose = form[0].isalnum() or form[-1].isalnum() or form == "{}"
        self.texts: list[str] = []
        self.shapes: list[str] = []
        self.numbers: dict[int, _StandIn] = {}

    def add(self, text: str, *, mask: str | None = None) -> None:
        """Add literal text."""
        self.texts.append(text)
        self.shapes.append(text if mask is None else mask * len(text))

    def stand_in(self, number: int, original: str, *, pad: bool, mask: str) -> None:
        """Add a stand-in; one of letters or digits is separated from words by spaces."""
        last = next((text[-1] for text in reversed(self.texts) if text), " ")
        before = self.loose and last.isalnum()
        after = self.loose and pad
        self.numbers[number] = _StandIn(original, before, after)
        self.add(" " * before)
        self.add(self.form.format(number), mask=mask)
        self.add(" " * after)

    def finish(self, copies: list[str], pattern: re.Pattern[str]) -> ProtectedText:
        """The finished text."""
        stand_ins = {self.form.format(n): each.original for n, each in self.numbers.items()}
        texts, shapes = "".join(self.texts), "".join(self.shapes)
        return ProtectedText(texts, shapes, stand_ins, tuple(copies), self.numbers, pattern)


def _pattern(form: str) -> re.Pattern[str]:
    """A pattern of a stand-in with any spacing and case."""
    left, right = ("".join(rf"{re.escape(c)}\s*" for c in side) for side in form.split("{}"))
    right = right.removesuffix(r"\s*")
    gap = r"\s*" if right else ""
    number = r"(?<![0-9])(?P<number>[0-9]{1,9})(?![0-9])"
    return re.compile(rf"{left}{number}{gap}{right}", re.IGNORECASE)


def _finds(text: str, codes: Sequence[str], options: ProtectionOptions) -> Iterator[_Find]:
    """Find protected parts in order; where two overlap, the kind that comes first in ALL wins."""
    patterns = {**PATTERNS, TERM: term_pattern(options.terms)}
    taken = bytearray(len(text))
    found: list[_Find] = []
    for kind in ("code", *ALL):
        pattern = _code_pattern(codes) if kind == "code" else patterns[kind]
        name = MARKUP if kind == "code" else kind
        if pattern is None or (name in options.ignored and kind != "code"):
            continue
        for match in pattern.finditer(text):
            start, end = match.span()
            if start < end and not any(taken[start:end]):
                taken[start:end] = b"\1" * (end - start)
                found.append(_Find(start, end, name))
    return iter(sorted(found))


def _code_pattern(codes: Sequence[str]) -> re.Pattern[str] | None:
    longest_first = sorted(set(codes), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if codes else None


def _missing(copies: Sequence[str], text: str) -> Iterator[str]:
    """The expected copies that a text lacks; separators in numbers may differ."""
    for copy, needed in Counter(copies).items():
        digits = re.findall(r"\d+", copy)
        number = PATTERNS["number"].fullmatch(copy)
        core = r"[^\w]{0,2}".join(digits) if number and digits else re.escape(copy)
        there = len(re.findall(rf"(?<!\d){core}(?!\d)" if number else core, text))
        yield from [copy] * max(0, needed - there)
