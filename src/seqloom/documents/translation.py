"""A document through a model: segments are protected, split into sentences, and put together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from seqloom.documents.document import Document, Segment
from seqloom.documents.protection import ProtectedText, ProtectionOptions, protect
from seqloom.documents.sentences import TextPiece, split_long, split_sentences

__all__ = ["LostText", "TranslatedDocument", "TranslationOptions", "translate_document"]


@dataclass(frozen=True)
class TranslationOptions:
    """How segments become inputs of a model: its language, and the longest input by `length`."""

    protection: ProtectionOptions = field(default_factory=ProtectionOptions)
    language: str = ""  # of the source
    limit: int | None = None
    length: Callable[[str], int] = len


class LostText(NamedTuple):
    """What was protected in a segment and is not in its translation."""

    place: str
    text: str


class TranslatedDocument(NamedTuple):
    """The bytes of a translated document, and what was lost in it."""

    data: bytes
    lost: list[LostText]


def translate_document(
    document: Document,
    translate: Callable[[Sequence[str]], Sequence[str]],
    *,
    options: TranslationOptions | None = None,
) -> TranslatedDocument:
    """Translate all segments in one call of `translate`, which gets and gives a list of texts."""
    options = options or TranslationOptions()
    inputs = [_SegmentInput(segment, options) for segment in document.segments]
    texts = [text for each in inputs for text in each.texts]
    outputs = list(translate(texts))
    if len(outputs) != len(texts):
        raise ValueError(f"{len(texts)} texts need as many translations, not {len(outputs)}")
    said, lost, start = [], [], 0
    for each in inputs:
        end = start + len(each.texts)
        restored = each.protected.restore(each.join(outputs[start:end]))
        said.append(restored.text)
        lost += [LostText(each.place, text) for text in restored.lost]
        start = end
    return TranslatedDocument(document.with_translations(said), lost)


class _SegmentInput:
    """The texts that a model gets of a segment, and how they go together."""

    def __init__(self, segment: Segment, options: TranslationOptions) -> None:
        self.place = segment.place
        self.protected = protect(segment.text, codes=segment.codes, options=options.protection)
        self.pieces = list(_pieces(self.protected, options))

    @property
    def texts(self) -> list[str]:
        """The pieces that have letters; the others stay as they are."""
        return [piece.text for piece in self.pieces if _has_letters(piece)]

    def join(self, outputs: Sequence[str]) -> str:
        """The pieces with their translations, and the spaces between them."""
        left = iter(outputs)
        return "".join(
            (next(left) if _has_letters(piece) else piece.text) + piece.space
            for piece in self.pieces
        )


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
