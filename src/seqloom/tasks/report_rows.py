"""Validation rows with the model's outputs and their quality, for reports."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from seqloom.data import Corpus, Indices, Row, even_indices
from seqloom.drawing.page import Picture
from seqloom.drawing.views import View
from seqloom.errors import RunError
from seqloom.fields import Field, Values
from seqloom.metrics import Score
from seqloom.prediction import Forecast, Output, Predictor
from seqloom.readers.lines import FileLocation
from seqloom.remedies import Remedy, Setting
from seqloom.store import RunDirectory
from seqloom.tasks.evaluation import Breakdown

__all__ = [
    "CHRF",
    "ForecastResults",
    "HeldOutResults",
    "HeldOutRow",
    "ReportRow",
    "ReportRows",
    "Scale",
    "corpus_rows",
    "encode_held_out",
    "open_held_out",
    "output_rows",
    "source_length",
    "source_preview",
]

LONGEST = 60  # items of an explained input; for numeric ones, 100 times as many


class Scale(NamedTuple):
    """The unit of quality of rows, and the unit of their lengths."""

    name: str
    length: str = "tokens of the source"  # empty if all have the same length
    digits: int = 0
    top: float | None = 100.0  # the best possible value, if known
    lower_is_better: bool = False  # whether lower is better; qualities are then negated


CHRF = Scale("chrF")


@dataclass(frozen=True)
class ReportRow:
    """A validation row: target, output, quality."""

    source: str | Picture
    reference: str
    output: str
    quality: float  # the larger, the better
    length: int
    score: float  # log-probability of the output


class HeldOutRow(NamedTuple):
    """A validation row in its original and its encoded form."""

    source: str
    target: str
    source_values: Values
    target_values: Values
    place: FileLocation | None = None  # source location of an encoded row

    def is_short(self, text: str, values: Values) -> bool:
        """Whether one side of the row is present, and short enough to be explained."""
        longest = LONGEST * (1 if self.source_values.ndim == 1 else 100)
        return bool(text.strip()) and len(values) <= longest


@dataclass(frozen=True)
class ReportRows:
    """Rows, the unit of their quality, and the metrics over all of them."""

    scale: Scale
    rows: tuple[ReportRow, ...]
    scores: tuple[Score, ...]
    breakdowns: tuple[Breakdown, ...] = ()


@dataclass(frozen=True, eq=False)
class HeldOutResults:
    """Results on validation rows for a report."""

    layout: ClassVar[str] = "rows"  # of the report's page

    scores: tuple[Score, ...]
    views: tuple[View, ...]
    views_heading: str
    scale: Scale
    report_rows: tuple[ReportRow, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()

    def as_fields(self) -> Mapping[str, Any]:
        """The values by field name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, eq=False)
class ForecastResults(HeldOutResults):
    """Results on validation windows for a report."""

    layout: ClassVar[str] = "forecasts"

    forecasts: tuple[Forecast, ...] = ()  # from the best to the worst
    windows: int = 0


def encode_held_out(model: Predictor, rows: Sequence[Row], *, most: int) -> list[HeldOutRow]:
    """Encode `most` of these rows, evenly spaced."""
    chosen = [rows[place] for place in even_indices(len(rows), most)]
    sources = model.source.rows([row.source for row in chosen])
    targets = model.target.rows([row.target for row in chosen])
    cells = ((row.source, row.target) for row in chosen)
    return [
        HeldOutRow(*cell, source, target)
        for cell, source, target in zip(cells, sources, targets, strict=True)
    ]


def open_held_out(directory: RunDirectory, model: Predictor, *, most: int) -> list[HeldOutRow]:
    """Open `most` validation rows of a run; RunError if they are missing."""
    try:
        corpus = Corpus.open(directory.cache_directory / "valid")
    except RunError:
        raise RunError(
            "its held-out rows are no longer there",
            place=directory.path,
            remedy=Remedy("name some with {}", Setting("data")),
        ) from None
    return corpus_rows(corpus, model, even_indices(len(corpus), most))


def corpus_rows(corpus: Corpus, model: Predictor, indices: Indices) -> list[HeldOutRow]:
    """Rows of a corpus in their original and their encoded form."""
    batch = corpus.batch(indices)
    return [
        HeldOutRow(
            model.source.cell(source[:read]),
            model.target.cell(target[:written]),
            source[:read],
            target[:written],
            corpus.place(int(index)),
        )
        for source, read, target, written, index in zip(*batch, strict=True)
    ]


Length = tuple[str, Callable[[HeldOutRow], int]]
"""What lengths are counted in, empty where all are alike, and the length of a row."""
Quality = Callable[[int, HeldOutRow, Output], float]
"""How good an output is, by the number of its row, the row and the output."""


def source_length(model: Predictor) -> Length:
    """Lengths of sources."""
    unit = model.source.length_unit
    return f"{unit} of the source" if unit else "", lambda row: len(row.source_values)


def output_rows(
    model: Predictor,
    held: Sequence[HeldOutRow],
    outputs: Sequence[Output],
    quality: Quality,
    *,
    length: Callable[[HeldOutRow], int],
) -> tuple[ReportRow, ...]:
    """Validation rows with their outputs."""
    return tuple(
        ReportRow(
            source_preview(model.source, row),
            row.target,
            output.text,
            quality(number, row, output),
            length(row),
            output.score,
        )
        for number, (row, output) in enumerate(zip(held, outputs, strict=True))
    )


def source_preview(field: Field, row: HeldOutRow) -> str | Picture:
    """The source of a row for a table; a picture is shown as such."""
    items = field.items.pixels
    if items is None:
        return row.source
    from PIL import Image

    pixels = np.asarray(row.source_values[0], np.uint8).reshape(
        items.channels, items.height, items.width
    )
    image = pixels.transpose(1, 2, 0) if items.channels == 3 else pixels[0]
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(stream, "PNG")
    return Picture(row.source, stream.getvalue())
