"""Translate documents in place: only their texts change, the rest is preserved byte for byte."""

from seqloom.documents.document import (
    DOCUMENT_FORMATS,
    Document,
    DocumentFormat,
    DocumentOptions,
    Segment,
    is_document,
    open_document,
)
from seqloom.documents.protection import ProtectedText, ProtectionOptions, Restored, protect
from seqloom.documents.translation import (
    LostText,
    TranslatedDocument,
    TranslatedSegment,
    TranslationOptions,
    translate_document,
)
from seqloom.fields.sentences import TextPiece, join_pieces, split_long, split_sentences

__all__ = [
    "DOCUMENT_FORMATS",
    "Document",
    "DocumentFormat",
    "DocumentOptions",
    "LostText",
    "ProtectedText",
    "ProtectionOptions",
    "Restored",
    "Segment",
    "TextPiece",
    "TranslatedDocument",
    "TranslatedSegment",
    "TranslationOptions",
    "is_document",
    "join_pieces",
    "open_document",
    "protect",
    "split_long",
    "split_sentences",
    "translate_document",
]
