"""Short ways to open a document and to write it."""

from collections.abc import Callable

from seqloom.documents import Document, DocumentOptions, open_document

__all__ = ["opened", "texts", "written"]


def opened(text: str | bytes, name: str, options: DocumentOptions | None = None) -> Document:
    """A document of some text in UTF-8, or of bytes."""
    data = text if isinstance(text, bytes) else text.encode()
    return open_document(data, name, options=options)


def texts(text: str | bytes, name: str, options: DocumentOptions | None = None) -> list[str]:
    """The texts to translate."""
    return [segment.text for segment in opened(text, name, options).segments]


def written(
    text: str,
    name: str,
    translate: Callable[[str], str],
    options: DocumentOptions | None = None,
) -> str:
    """A document with each segment translated."""
    document = opened(text, name, options)
    return document.with_translations([translate(s.text) for s in document.segments]).decode()
