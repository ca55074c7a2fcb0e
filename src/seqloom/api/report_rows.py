"""Held-out rows with what a model says of each and how good that is, whatever its kind."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqloom.api.use import data_rows
from seqloom.data import Corpus, Data, Report, spread
from seqloom.drawing.page import Picture
from seqloom.errors import RunError
from seqloom.fields import UNK, Field, NumberField, Pixels, TagsField, TextField, Values
from seqloom.fields.numbers import read_number
from seqloom.fields.tokenizers import split_symbols
from seqloom.metrics import Score, perplexity, target_scores
from seqloom.prediction import Filler, Model, Output, Predictor, Scored
from seqloom.prediction.search_setup import configured
from seqloom.reports.pages import Judged, Scale
from seqloom.store import RunDirectory
from seqloom.tasks.blanks_evaluation import told_scores
from seqloom.tasks.language_evaluation import characters, language_scores

__all__ = ["Held", "Verdicts", "held_out", "judge", "judge_gaps", "judge_texts"]

TEXT = Scale("chrF")
LABEL = Scale("p of the right label, %")
TAGS = Scale("tags right, %")
GAPS = Scale("told right, %", "tokens")
NUMBER = Scale("off by", digits=3, top=None, falling=True)
LANGUAGE = Scale("nats a character", "tokens", digits=2, top=None, falling=True)


class Held(NamedTuple):
    """A row that was not learnt from, as it is given and as the model reads it."""

    source: str
    target: str
    values: Values
    wanted: Values


@dataclass(frozen=True)
class Verdicts:
    """Rows, what they are judged by, and the metrics over all of them."""

    scale: Scale
    rows: tuple[Judged, ...]
    scores: tuple[Score, ...]


def held_out(
    directory: RunDirectory, model: Predictor, data: Data | None, *, most: int
) -> list[Held]:
    """So many rows from all over this data, or over those that training held out."""
    if data is not None:
        every = list(data_rows(model, data, None, Report()))
        given = [every[place] for place in spread(len(every), most)]
        sources = model.source.rows([row.source for row in given])
        targets = model.target.rows([row.target for row in given])
        cells = ((row.source, row.target) for row in given)
        return [Held(*cell, *rows) for cell, *rows in zip(cells, sources, targets, strict=True)]
    corpus = _kept(directory)
    batch = corpus.batch(spread(len(corpus), most))
    return [
        Held(
            model.source.cell(source[:read]),
            model.target.cell(target[:written]),
            source[:read],
            target[:written],
        )
        for source, read, target, written in zip(
            batch.source, batch.source_lengths, batch.target, batch.target_lengths, strict=True
        )
    ]


def judge(model: Predictor, held: Sequence[Held]) -> Verdicts:
    """Each row with what the model says of it."""
    encoded = [model.inputs.encoded(number, row.values) for number, row in enumerate(held)]
    values = [each.values for each in encoded]
    if isinstance(model, Model):
        outputs = model.predict_rows(values, search=configured(model.config.search, 1))
    else:
        outputs = model.predict_rows(values)
    texts, references = [each.text for each in outputs], [row.target for row in held]
    scores = target_scores(model.target.config.kind, texts, references)
    scored: list[Scored] = []
    if not isinstance(model.target, NumberField):
        scored = model.scored(encoded, references)
        counts = [len(each.tokens) for each in scored]
        scores.append(perplexity([each.log_probability for each in scored], counts))
    scale, quality = _measured(model.target, scored)
    counted, length = _counted(model)
    rows = tuple(
        Judged(
            _shown(model.source, row),
            row.target,
            output.text,
            quality(number, row, output),
            length(row),
            output.score,
        )
        for number, (row, output) in enumerate(zip(held, outputs, strict=True))
    )
    return Verdicts(scale._replace(length=counted), rows, tuple(scores))


def judge_texts(model: Model, held: Sequence[Held]) -> Verdicts:
    """The texts of a language model, each with what a character of it costs."""
    texts = [row.target for row in held]
    pairs = [("", text) for text in texts]
    scored = model.score_text(texts) if model.endless else model.score(pairs)
    rows = tuple(
        Judged("", text, "", each.log_probability / max(1, count), len(each.tokens), 0.0)
        for text, count, each in zip(texts, characters(model, texts), scored, strict=True)
    )
    return Verdicts(LANGUAGE, rows, tuple(language_scores(model, texts)))


def judge_gaps(model: Filler, held: Sequence[Held]) -> Verdicts:
    """Texts, and what is told of the tokens of each, every one from all others."""
    texts = [row.target for row in held]
    told = model.told(texts)
    rows = tuple(
        Judged(
            "",
            text,
            model.target.cell(each.guesses),
            100 * float((each.guesses == each.tokens).sum()) / max(1, len(each.tokens)),
            len(each.tokens),
            float(each.log_probabilities[each.tokens != UNK].sum()),
        )
        for text, each in zip(texts, told, strict=True)
    )
    return Verdicts(GAPS, rows, tuple(told_scores(told)))


def _kept(directory: RunDirectory) -> Corpus:
    try:
        return Corpus.open(directory.cache_directory / "valid")
    except RunError:
        raise RunError(
            f"{directory.path}: its held-out rows are no longer there; name some with --data"
        ) from None


Quality = Callable[[int, Held, Output], float]


def _measured(target: Field, scored: Sequence[Scored]) -> tuple[Scale, Quality]:
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
            return TAGS, lambda _, row, output: _right(output.text, row.target)
        case _:
            return LABEL, lambda number, *_: 100 * float(np.exp(scored[number].log_probability))


def _right(found: str, wanted: str) -> float:
    """Per cent of the tags that are right."""
    tags = zip(split_symbols(found), split_symbols(wanted), strict=True)
    return 100 * float(np.mean([one == other for one, other in tags]))


def _counted(model: Predictor) -> tuple[str, Callable[[Held], int]]:
    """What lengths are of: the source, or the target where every source is one item."""
    if isinstance(model.source, TextField):
        return "tokens of the source", lambda row: len(row.values)
    if model.source.config.kind == "sound":
        return "frames of the source", lambda row: len(row.values)
    if isinstance(model.target, TextField):
        return "tokens of the reference", lambda row: len(row.wanted)
    return "", lambda row: len(row.values)


def _shown(field: Field, row: Held) -> str | Picture:
    """The source of a row for a table: a picture as itself."""
    items: Any = field.items
    if not isinstance(items, Pixels):
        return row.source
    from PIL import Image

    pixels = np.asarray(row.values[0], np.uint8).reshape(items.channels, items.height, items.width)
    image = pixels.transpose(1, 2, 0) if items.channels == 3 else pixels[0]
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(stream, "PNG")
    return Picture(row.source, stream.getvalue())
