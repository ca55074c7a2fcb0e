"""Spans from tags, by the rules of seqeval and conlleval (Tjong Kim Sang and De Meulder 2003,
"Introduction to the CoNLL-2003 Shared Task"; Ramshaw and Marcus 1995, "Text Chunking using
Transformation-Based Learning").

Tags are `O` outside, else a prefix and a type: `B-city`. Spans are read leniently, as for published
figures: a span begins wherever a tag cannot continue the previous one, so `O I-city` holds a span
although BIO requires `B-city`. `strict` ignores spans that the scheme does not allow.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import chain, pairwise
from typing import NamedTuple

__all__ = ["Span", "TagScheme", "detect_scheme", "find_spans"]

OUTSIDE = "O"
UNTYPED = "_"


class TagScheme(StrEnum):
    """A tagging scheme: how tags mark the start and end of spans."""

    NONE = "none"  # tags that mark no spans, such as parts of speech
    BIO = "BIO"  # every span begins with B; also called IOB2
    IOB1 = "IOB1"  # B only where a span directly follows another of its type
    BIOES = "BIOES"  # E ends a span, S is one of a single token
    BILOU = "BILOU"  # BIOES with L and U

    @property
    def marks_spans(self) -> bool:
        """Whether tags of this scheme mark spans."""
        return self is not TagScheme.NONE


class Span(NamedTuple):
    """A typed span of tokens from `start` (inclusive) to `end` (exclusive)."""

    kind: str
    start: int
    end: int


class _Tag(NamedTuple):
    """A tag split into its BIOES prefix and its type."""

    prefix: str
    kind: str


_END = _Tag(OUTSIDE, UNTYPED)
_LETTERS = {"L": "E", "U": "S"}


def detect_scheme(rows: Sequence[Sequence[str]]) -> TagScheme:
    """Detect the scheme of rows of tags; NONE if they mark no spans.

    Tags mark spans if all but `O` have a prefix and a hyphen, or all are bare prefixes and some are
    `B`. L or U means BILOU, E or S BIOES. Otherwise the scheme is IOB1 if spans begin with I and B
    occurs only where IOB1 needs it, else BIO.
    """
    tags = set(chain.from_iterable(rows)) - {OUTSIDE}
    bare = all(len(tag) == 1 for tag in tags) and "B" in tags
    if not tags or not (bare or all(len(tag) > 2 and tag[1] == "-" for tag in tags)):
        return TagScheme.NONE
    prefixes = {tag[0] for tag in tags}
    if prefixes <= set("BIES") and prefixes & set("ES"):
        return TagScheme.BIOES
    if prefixes <= set("BILU") and prefixes & set("LU"):
        return TagScheme.BILOU
    if not prefixes <= set("BI"):
        return TagScheme.NONE
    return TagScheme.IOB1 if _are_iob1(rows) else TagScheme.BIO


def _are_iob1(rows: Sequence[Sequence[str]]) -> bool:
    """Whether some span begins with I, and each B separates spans of one type."""
    some = False
    for row in rows:
        parsed = [_END, *map(_parse, row)]
        for before, tag in pairwise(parsed):
            touching = before.prefix != OUTSIDE and before.kind == tag.kind
            if tag.prefix == "B" and not touching:
                return False
            some |= tag.prefix == "I" and not touching
    return some


def find_spans(tags: Sequence[str], scheme: TagScheme, *, strict: bool = False) -> list[Span]:
    """The spans of a row of tags, in order."""
    parsed = [*map(_parse, tags), _END]
    return _strict_spans(parsed, scheme) if strict else _lenient_spans(parsed)


def _parse(tag: str) -> _Tag:
    prefix = _LETTERS.get(tag[:1], tag[:1])
    return _Tag(prefix, tag[2:] or UNTYPED)


def _lenient_spans(tags: Sequence[_Tag]) -> list[Span]:
    """The spans of lenient reading: a span ends before a tag that cannot continue it."""
    spans, start, before = [], 0, _END
    for place, tag in enumerate(tags):
        parted = _parts(before, tag)
        if before.prefix != OUTSIDE and parted:
            spans.append(Span(before.kind, start, place))
        if tag.prefix != OUTSIDE and parted:
            start = place
        before = tag
    return spans


def _parts(before: _Tag, tag: _Tag) -> bool:
    """Whether a span ends between two neighbouring tags."""
    return (
        before.prefix in (OUTSIDE, "E", "S")
        or tag.prefix in (OUTSIDE, "B", "S")
        or before.kind != tag.kind
    )


def _strict_spans(tags: Sequence[_Tag], scheme: TagScheme) -> list[Span]:
    """The spans that follow the scheme: its start, inner and end tags."""
    starts, ends = _STRICT[scheme]
    spans, place, before = [], 0, _END
    while place < len(tags):
        first = place
        place += 1
        if starts(before, tags[first]):
            while place < len(tags) and _goes_on(tags[place - 1], tags[place]):
                place += 1
            if place < len(tags) and ends(tags[place - 1], tags[place]):
                spans.append(Span(tags[first].kind, first, place))
        before = tags[place - 1]
    return spans


def _goes_on(before: _Tag, tag: _Tag) -> bool:
    return before.prefix in "BI" and tag.prefix in "IE" and before.kind == tag.kind


def _starts_iob1(before: _Tag, tag: _Tag) -> bool:
    if tag.prefix == "I":
        return before.prefix in "OB" or before.kind != tag.kind
    return tag.prefix == "B" and before.prefix in "IB" and before.kind == tag.kind


def _ends_iob1(before: _Tag, tag: _Tag) -> bool:
    if (before.prefix, tag.prefix) == ("B", "B"):
        return before.kind == tag.kind
    return before.prefix in "IB" and (tag.prefix in "OB" or before.kind != tag.kind)


_Rule = Callable[[_Tag, _Tag], bool]
_BIOES: tuple[_Rule, _Rule] = (
    lambda _, tag: tag.prefix in "BS",
    lambda before, _: before.prefix in "ES",
)
_BIO: tuple[_Rule, _Rule] = (
    lambda _, tag: tag.prefix == "B",
    lambda before, tag: before.prefix in "BI",
)
_STRICT: dict[TagScheme, tuple[_Rule, _Rule]] = {
    TagScheme.NONE: (lambda *_: False, lambda *_: False),
    TagScheme.BIO: _BIO,
    TagScheme.IOB1: (_starts_iob1, _ends_iob1),
    TagScheme.BIOES: _BIOES,
    TagScheme.BILOU: _BIOES,
}
