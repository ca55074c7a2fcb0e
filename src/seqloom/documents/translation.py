"""Translate documents: protect segments, split them into sentences, translate, and join."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from seqloom.documents.document import Document, Segment
from seqloom.documents.protection import ProtectedText, ProtectionOptions, protect
from seqloom.fields.sentences import TextPiece, split_long, split_sentences

__all__ = [
    "LostText",
    "TranslatedDocument",
    "TranslatedSegment",
    "TranslationOptions",
    "translate_document",
]

STAND_IN = re.compile(r"(⟦[0-9]+⟧)")  # has no letters, so it is never sent to the model
Translate = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class TranslationOptions:
    """How segments are translated: the source language, and the maximum input by `length`.

    `keep` retranslates a segment that has lost a protected part, in pieces around the protected
    parts, which then cannot be lost.
    """

    protection: ProtectionOptions = field(default_factory=ProtectionOptions)
    language: str = ""  # of the source
    limit: int | None = None
    length: Callable[[str], int] = len
    keep: bool = False


class LostText(NamedTuple):
    """The protected parts of a segment that its translation lacks."""

    place: str
    text: str


class TranslatedSegment(NamedTuple):
    """A segment and its translation; `in_parts` if it was translated in pieces around protected
    parts.
    """

    place: str
    source: str
    text: str
    lost: tuple[str, ...] = ()
    in_parts: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self._asdict(), "lost": list(self.lost)}


class TranslatedDocument(NamedTuple):
    """The bytes of a translated document, the protected parts lost, and its segments."""

    data: bytes
    lost: list[LostText]
    segments: list[TranslatedSegment]


def translate_document(
    document: Document,
    translate: Translate,
    *,
    options: TranslationOptions | None = None,
) -> TranslatedDocument:
    """Translate all segments in one call of `translate`, a function on lists of texts.

    `keep` makes a second call for segments that have lost protected parts.
    """
    options = options or TranslationOptions()
    found = _translate_segments(document.segments, translate, partial(_SegmentInput, options))
    if options.keep:
        again = [number for number, each in enumerate(found) if each.lost]
        segments = [document.segments[number] for number in again]
        parts = _translate_segments(segments, translate, partial(_PartedInput, options))
        for number, each in zip(again, parts, strict=True):
            found[number] = each._replace(in_parts=True)
    data = document.with_translations([each.text for each in found])
    return TranslatedDocument(data, [LostText(s.place, t) for s in found for t in s.lost], found)


def _translate_segments(
    segments: Sequence[Segment],
    translate: Translate,
    prepare: "Callable[[Segment], _SegmentInput]",
) -> list[TranslatedSegment]:
    inputs = [prepare(segment) for segment in segments]
    texts = [text for each in inputs for text in each.texts]
    outputs = list(translate(texts)) if texts else []
    if len(outputs) != len(texts):
        raise ValueError(f"{len(texts)} texts need as many translations, not {len(outputs)}")
    left, found = iter(outputs), []
    for segment, each in zip(segments, inputs, strict=True):
        restored = each.protected.restore(each.join([next(left) for _ in each.texts]))
        lost = tuple(restored.lost)
        found.append(TranslatedSegment(segment.place, segment.text, restored.text, lost))
    return found


class _SegmentInput:
    """The model inputs of a segment, and how to join their outputs."""

    def __init__(self, options: TranslationOptions, segment: Segment) -> None:
        self.protected = protect(segment.text, codes=segment.codes, options=options.protection)
        self.pieces = list(_pieces(self.protected, options))

    @property
    def texts(self) -> list[str]:
        """The pieces with letters; others stay unchanged."""
        return [piece.text for piece in self.pieces if _has_letters(piece)]

    def join(self, outputs: Sequence[str]) -> str:
        """Join the translated pieces with the spaces between them."""
        left = iter(outputs)
        return "".join(
            (next(left) if _has_letters(piece) else piece.text) + piece.space
            for piece in self.pieces
        )


class _PartedInput(_SegmentInput):
    """A segment's input in pieces between protected parts."""

    def __init__(self, options: TranslationOptions, segment: Segment) -> None:
        safe = replace(options.protection, stand_in="⟦{}⟧", copied=frozenset())
        super().__init__(replace(options, protection=safe), segment)
        self.pieces = [part for piece in self.pieces for part in _parts(piece)]


def _parts(piece: TextPiece) -> Iterator[TextPiece]:
    """Split a piece around each stand-in; surrounding spaces stay."""
    for part in STAND_IN.split(piece.text):
        body = part.strip()
        start = part.find(body)
        yield TextPiece("", part[:start])
        yield TextPiece(body, part[start + len(body) :])
    yield TextPiece("", piece.space)


def _pieces(protected: ProtectedText, options: TranslationOptions) -> list[TextPiece]:
    sentences = split_sentences(protected.text, language=options.language, shape=protected.shape)
    if options.limit is None:
        return sentences
    pieces = []
    for text, space in sentences:
        *parts, last = split_long(text, options.limit, length=options.length) or [TextPiece("", "")]
        pieces += [*parts, TextPiece(last.text, last.space + space)]
    return pieces


def _has_letters(piece: TextPiece) -> bool:
    return any(character.isalpha() for character in piece.text)
