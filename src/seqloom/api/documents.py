"""A whole document through a model: markup, structure and everything protected stay."""

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from seqloom.documents import (
    Document,
    DocumentOptions,
    ProtectionOptions,
    TranslatedDocument,
    TranslationOptions,
    open_document,
    translate_document,
)
from seqloom.errors import ConfigError, DataError
from seqloom.fields import UNK, Field
from seqloom.prediction import Output, Predictor
from seqloom.readers.lines import file_name, open_binary

__all__ = ["Ask", "DocumentRequest", "predict_document", "read_document"]

STAND_INS = ("⟦{}⟧", "<{}>", "[{}]", "({})", "X{}X")
Ask = Callable[[Iterable[str]], Iterable[Output]]


@dataclass(frozen=True)
class DocumentRequest:
    """How a document is read, and what must stay in it.

    `stand_in` is chosen for the model unless set. With `keep`, a segment in which something
    is lost is translated in parts, so that all that is protected stays.
    """

    options: DocumentOptions = field(default_factory=DocumentOptions)
    terms: tuple[str, ...] = ()  # words that stay as they are
    stand_in: str = ""
    keep: bool = True
    name: str = "document"  # in messages, where the document is no file
    progress: Callable[[int, int], None] | None = None  # sentences done, and all


def predict_document(
    model: Predictor,
    document: Path | str | bytes,
    *,
    request: DocumentRequest | None = None,
    ask: Ask | None = None,
) -> TranslatedDocument:
    """Translate a file, or a text of the format that the request names.

    `ask` gives the outputs for sentences, and is `model.stream_cells` unless set.
    """
    request = request or DocumentRequest()
    if model.as_text_predictor() is None or model.source.config.kind != "text":
        raise ConfigError(
            "a document is translated by a model from text to text",
            remedy="give the inputs of this model line by line, in a text file or a table",
        )
    opened, outputs_of = _open(document, request), ask or model.stream_cells

    def translate(texts: Sequence[str]) -> list[str]:
        found = []
        for number, output in enumerate(outputs_of(texts), 1):
            found.append(output.text)
            if request.progress is not None:
                request.progress(number, len(texts))
        return found

    return translate_document(opened, translate, options=_translation_options(model, request))


def read_document(path: Path | None) -> bytes:
    """The bytes of a document, unpacked if gzipped; None is standard input."""
    try:
        with open_binary(path) as stream:
            return stream.read()
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"cannot be read ({error})", place=file_name(path)) from None


def _open(document: Path | str | bytes, request: DocumentRequest) -> Document:
    options = request.options
    match document:
        case Path():
            return open_document(read_document(document), str(document), options=options)
        case str():
            options = replace(options, encoding="utf-8")
            return open_document(document.encode(), request.name, options=options)
        case _:
            return open_document(document, request.name, options=options)


def _translation_options(model: Predictor, request: DocumentRequest) -> TranslationOptions:
    """No input is longer than the model reads, and stand-ins are of symbols that it knows."""
    source, target = model.source, model.target
    form = request.stand_in or next(
        (form for form in STAND_INS if _knows(source, form) and _knows(target, form)), STAND_INS[0]
    )
    return TranslationOptions(
        ProtectionOptions(stand_in=form, terms=request.terms),
        request.options.source_language or "",
        model.config.data.max_source,
        lambda text: len(source.rows([text])[0]) - source.closing,
        request.keep,
    )


def _knows(side: Field, form: str) -> bool:
    """Whether all symbols of a stand-in are in the vocabulary."""
    return UNK not in side.rows([form.format(0)])[0].tolist()
