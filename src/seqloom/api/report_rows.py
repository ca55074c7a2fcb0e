"""Held-out rows with what a model says of each and how good that is, whatever its kind."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqloom.api.use import data_rows
from seqloom.data import Corpus, Data, Report, even_indices
from seqloom.drawing.page import Picture
from seqloom.errors import RunError
from seqloom.fields import UNK, Field, NumberField, Pixels, TagsField, TextField, Values
from seqloom.fields.numbers import read_number
from seqloom.fields.tokenizers import split_symbols
from seqloom.metrics import Score, perplexity, target_scores
from seqloom.prediction import MaskFiller, Output, Predictor, ScoredOutput, TextPredictor
from seqloom.prediction.search_setup import search_from_config
from seqloom.reports.pages import ReportRow, Scale
from seqloom.store import RunDirectory
from seqloom.tasks.blanks_evaluation import summarize_blanks
from seqloom.tasks.language_evaluation import characters, language_scores

__all__ = [
    "HeldOutRow",
    "ReportRows",
    "read_held_out",
    "score_blanks",
    "score_outputs",
    "score_texts",
]

TEXT = Scale("chrF")
LABEL = Scale("p of the right label, %")
TAGS = Scale("tags right, %")
BLANKS = Scale("told right, %", "tokens")
NUMBER = Scale("off by", digits=3, top=None, lower_is_better=True)
LANGUAGE = Scale("nats a character", "tokens", digits=2, top=None, lower_is_better=True)


class HeldOutRow(NamedTuple):
    """A row that was not learnt from, as it is given and as the model reads it."""

    source: str
    target: str
    source_values: Values
    target_values: Values


@dataclass(frozen=True)
class ReportRows:
    """Rows, what they are judged by, and the metrics over all of them."""

    scale: Scale
    rows: tuple[ReportRow, ...]
    scores: tuple[Score, ...]


def read_held_out(
    directory: RunDirectory, model: Predictor, data: Data | None, *, most: int
) -> list[HeldOutRow]:
    """So many rows from all over this data, or over those that training held out."""
    if data is not None:
        every = list(data_rows(model, data, None, Report()))
        given = [every[place] for place in even_indices(len(every), most)]
        sources = model.source.rows([row.source for row in given])
        targets = model.target.rows([row.target for row in given])
        cells = ((row.source, row.target) for row in given)
        return [
            HeldOutRow(*cell, *rows) for cell, *rows in zip(cells, sources, targets, strict=True)
        ]
    corpus = _open_held_out(directory)
    batch = corpus.batch(even_indices(len(corpus), most))
    return [
        HeldOutRow(
            model.source.cell(source[:read]),
            model.target.cell(target[:written]),
            source[:read],
            target[:written],
        )
        for source, read, target, written in zip(
            batch.source, batch.source_lengths, batch.target, batch.target_lengths, strict=True
        )
    ]


def score_outputs(model: Predictor, held: Sequence[HeldOutRow]) -> ReportRows:
    """Each row with what the model says of it."""
    encoded = [
        model.input_reader.truncate(number, row.source_values) for number, row in enumerate(held)
    ]
    values = [each.values for each in encoded]
    if isinstance(model, TextPredictor):
        outputs = model.predict_rows(values, search=search_from_config(model.config.search, 1))
    else:
        outputs = model.predict_rows(values)
    texts, references = [each.text for each in outputs], [row.target for row in held]
    scores = target_scores(model.target.config.kind, texts, references)
    scored: list[ScoredOutput] = []
    if not isinstance(model.target, NumberField):
        scored = model.score_encoded(encoded, references)
        counts = [len(each.tokens) for each in scored]
        scores.append(perplexity([each.log_probability for each in scored], counts))
    scale, quality = _quality_measure(model.target, scored)
    counted, length = _length_measure(model)
    rows = tuple(
        ReportRow(
            _source_preview(model.source, row),
            row.target,
            output.text,
            quality(number, row, output),
            length(row),
            output.score,
        )
        for number, (row, output) in enumerate(zip(held, outputs, strict=True))
    )
    return ReportRows(scale._replace(length=counted), rows, tuple(scores))


def score_texts(model: TextPredictor, held: Sequence[HeldOutRow]) -> ReportRows:
    """The texts of a language model, each with what a character of it costs."""
    texts = [row.target for row in held]
    pairs = [("", text) for text in texts]
    scored = model.score_text(texts) if model.is_stream else model.score(pairs)
    rows = tuple(
        ReportRow("", text, "", each.log_probability / max(1, count), len(each.tokens), 0.0)
        for text, count, each in zip(texts, characters(model, texts), scored, strict=True)
    )
    return ReportRows(LANGUAGE, rows, tuple(language_scores(model, texts)))


def score_blanks(model: MaskFiller, held: Sequence[HeldOutRow]) -> ReportRows:
    """Texts, and what is told of the tokens of each, every one from all others."""
    texts = [row.target for row in held]
    told = model.token_scores(texts)
    rows = tuple(
        ReportRow(
            "",
            text,
            model.target.cell(each.guesses),
            100 * float((each.guesses == each.tokens).sum()) / max(1, len(each.tokens)),
            len(each.tokens),
            float(each.log_probabilities[each.tokens != UNK].sum()),
        )
        for text, each in zip(texts, told, strict=True)
    )
    return ReportRows(BLANKS, rows, tuple(summarize_blanks(told)))


def _open_held_out(directory: RunDirectory) -> Corpus:
    try:
        return Corpus.open(directory.cache_directory / "valid")
    except RunError:
        raise RunError(
            f"{directory.path}: its held-out rows are no longer there; name some with --data"
        ) from None


Quality = Callable[[int, HeldOutRow, Output], float]


def _quality_measure(target: Field, scored: Sequence[ScoredOutput]) -> tuple[Scale, Quality]:
    """What rows of this kind are judged by."""
    match target:
        case TextField():
            from sacrebleu.metrics.chrf import CHRF

            chrf = CHRF()
            return TEXT, lambda _, row, output: float(
                chrf.sentence_score(output.text, [row.target]).score
            )
        case NumberField():
            return NUMBER, lambda _, row, output: -abs(float(output.text) - read_number(row.target))
        case TagsField():
            return TAGS, lambda _, row, output: _tag_accuracy(output.text, row.target)
        case _:
            return LABEL, lambda number, *_: 100 * float(np.exp(scored[number].log_probability))


def _tag_accuracy(found: str, wanted: str) -> float:
    """Per cent of the tags that are right."""
    tags = zip(split_symbols(found), split_symbols(wanted), strict=True)
    return 100 * float(np.mean([one == other for one, other in tags]))


def _length_measure(model: Predictor) -> tuple[str, Callable[[HeldOutRow], int]]:
    """What lengths are of: the source, or the target where every source is one item."""
    if isinstance(model.source, TextField):
        return "tokens of the source", lambda row: len(row.source_values)
    if model.source.config.kind == "sound":
        return "frames of the source", lambda row: len(row.source_values)
    if isinstance(model.target, TextField):
        return "tokens of the reference", lambda row: len(row.target_values)
    return "", lambda row: len(row.source_values)


def _source_preview(field: Field, row: HeldOutRow) -> str | Picture:
    """The source of a row for a table: a picture as itself."""
    items: Any = field.items
    if not isinstance(items, Pixels):
        return row.source
    from PIL import Image

    pixels = np.asarray(row.source_values[0], np.uint8).reshape(
        items.channels, items.height, items.width
    )
    image = pixels.transpose(1, 2, 0) if items.channels == 3 else pixels[0]
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(stream, "PNG")
    return Picture(row.source, stream.getvalue())
