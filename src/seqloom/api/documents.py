"""Translation of whole documents; markup, structure and protected text are kept."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from seqloom.data import Data, Report
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
from seqloom.metrics import Score
from seqloom.prediction import Glossary, Output, OutputOptions, Predictor, TermCount, TextPredictor
from seqloom.readers.lines import file_name, open_binary
from seqloom.search import Search
from seqloom.tasks import task_of

__all__ = [
    "Ask",
    "DocumentRequest",
    "GlossaryEffect",
    "GlossaryResult",
    "evaluate_glossary",
    "predict_document",
    "read_document",
]

STAND_INS = ("⟦{}⟧", "<{}>", "[{}]", "({})", "X{}X")
Ask = Callable[[Iterable[str]], Iterable[Output]]


@dataclass(frozen=True)
class DocumentRequest:
    """How a document is read and what is kept in it.

    `stand_in`, the placeholder for protected text, is chosen for the model unless set. With `keep`,
    a segment that loses protected text is translated in parts around it.
    """

    options: DocumentOptions = field(default_factory=DocumentOptions)
    terms: tuple[str, ...] = ()  # words to keep untranslated
    stand_in: str = ""
    keep: bool = True
    name: str = "document"  # for messages, if the document is not a file
    progress: Callable[[int, int], None] | None = None  # (done, total) in sentences


def predict_document(
    model: Predictor,
    document: Path | str | bytes,
    *,
    request: DocumentRequest | None = None,
    ask: Ask | None = None,
) -> TranslatedDocument:
    """Translate a file, or a text in the format that the request names.

    `ask` maps sentences to outputs; by default it is `model.stream_cells`.
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
    """Options that fit the model: its longest input, and a placeholder of symbols it knows."""
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
    """Whether all symbols of a placeholder are in the vocabulary."""
    return UNK not in side.rows([form.format(0)])[0].tolist()


class GlossaryResult(NamedTuple):
    """The results with or without a glossary: terms found, and metrics."""

    terms: TermCount
    scores: tuple[Score, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        scores = [score.as_dict() for score in self.scores]
        return {"terms": self.terms.wanted, "found": self.terms.found, "scores": scores}

    def line(self) -> str:
        """The same for people."""
        values = "  ".join(f"{score.name} {score.value:.{score.digits}f}" for score in self.scores)
        return f"terms {self.terms!s:<24} {values}"


@dataclass(frozen=True)
class GlossaryEffect:
    """Results without and with a glossary, and how many of the rows have terms."""

    rows: int
    rows_with_terms: int
    without: GlossaryResult
    with_glossary: GlossaryResult

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rows": self.rows,
            "rows_with_terms": self.rows_with_terms,
            "without": self.without.as_dict(),
            "with": self.with_glossary.as_dict(),
        }

    def lines(self) -> list[str]:
        """The same for people."""
        return [
            f"glossary: {self.rows_with_terms:,} of {self.rows:,} rows have terms",
            f"without it  {self.without.line()}",
            f"with it     {self.with_glossary.line()}",
        ]


def evaluate_glossary(
    model: TextPredictor,
    data: Data,
    glossary: Glossary,
    *,
    options: Mapping[str, Any] | None = None,
    search: Search | None = None,
) -> GlossaryEffect:
    """Measure term accuracy and the metrics of the outputs, without and with a glossary.

    Metrics are over all rows, including those without terms.
    """
    task = task_of(model.config)
    rows = list(task.data_rows(model, data, options, Report()))
    sources, references = [row.source for row in rows], [row.target for row in rows]

    def measure(wanted: OutputOptions) -> GlossaryResult:
        found = model.stream_cells(sources, search=search, options=wanted)
        outputs = [output.text for output in found]
        scores = task.metrics(outputs, references, seed=None)
        return GlossaryResult(_count(glossary, sources, outputs), tuple(scores))

    return GlossaryEffect(
        len(rows),
        sum(bool(glossary.find(source)) for source in sources),
        measure(OutputOptions()),
        measure(OutputOptions(glossary=glossary)),
    )


def _count(glossary: Glossary, sources: Sequence[str], outputs: Sequence[str]) -> TermCount:
    pairs = zip(sources, outputs, strict=True)
    return sum((glossary.count(source, output) for source, output in pairs), TermCount())
