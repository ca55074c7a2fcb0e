"""Documents in, documents out: the texts to translate, and the rest byte for byte."""

from seqloom.documents.document import (
    DOCUMENT_FORMATS,
    Document,
    DocumentFormat,
    DocumentOptions,
    Segment,
    open_document,
)
from seqloom.documents.protection import ProtectedText, ProtectionOptions, Restored, protect
from seqloom.documents.sentences import TextPiece, join_pieces, split_long, split_sentences
from seqloom.documents.translation import (
    LostText,
    TranslatedDocument,
    TranslationOptions,
    translate_document,
)

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
    "TranslationOptions",
    "join_pieces",
    "open_document",
    "protect",
    "split_long",
    "split_sentences",
    "translate_document",
]
