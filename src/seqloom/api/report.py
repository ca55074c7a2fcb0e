"""A report of a run: what its directory holds, and what its model makes of held-out rows."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from seqloom.api.report_rows import (
    HeldOutRow,
    ReportRows,
    read_held_out,
    score_blanks,
    score_outputs,
    score_texts,
)
from seqloom.api.use import load
from seqloom.config import flatten
from seqloom.data import Corpus, Data, even_indices, find_windows, source_rows
from seqloom.drawing.curves import Curves
from seqloom.drawing.image_files import write_bytes
from seqloom.drawing.views import View
from seqloom.errors import DataError, RunError
from seqloom.explain.attention_heads import Attentions
from seqloom.explain.attribution_views import attribution_view
from seqloom.explain.explained_output import Cell, output_to_explain
from seqloom.explain.media_attention import attention_from_trace, is_media
from seqloom.explain.tracing import has_attention, trace_output
from seqloom.fields import BLANK, Values
from seqloom.metrics import ForecastErrors, SeriesScale, score_all
from seqloom.prediction import Forecaster, MaskFiller, Predictor, TextPredictor
from seqloom.reports.pages import ForecastReport, RunReport, Scale
from seqloom.runs.contents import best_step
from seqloom.runs.parameter_table import parameter_lines
from seqloom.runs.progress import Progress
from seqloom.store import RunDirectory
from seqloom.version import __version__

__all__ = ["report", "write_report"]

ROWS = 500  # that are judged
VIEWS = 3
Numbers = NDArray[np.float32]
ATTENTION, ATTRIBUTION = "Attention of three examples", "What mattered in three examples"
LONGEST = 60  # items of an example whose attention is shown
SHORT = 20  # items of one where each is asked what it mattered to each output


def write_report(run: str | Path, to: Path, *, data: Data | None = None) -> RunReport:
    """Make the report and write it as one HTML page."""
    made = report(run, data=data)
    write_bytes(to, made.page().encode())
    return made


def report(run: str | Path, *, data: Data | None = None, most: int = ROWS) -> RunReport:
    """What is known of a run, with results on data it has not seen.

    Without data these are the rows that training held out, as far as the run still has them.
    """
    directory = RunDirectory(Path(run))
    model = load(run)
    if isinstance(model, Forecaster):
        return _forecast_report(directory, model, data, most)
    held = read_held_out(directory, model, data, most=most)
    made = _score_rows(model, held)
    kind, looks = _attention_views(model, _cells(model, held))
    return RunReport(
        **_report_header(directory, model, data),
        scores=made.scores,
        report_rows=made.rows,
        views=looks,
        scale=made.scale,
        views_heading=kind,
    )


def _forecast_report(
    directory: RunDirectory, model: Forecaster, data: Data | None, most: int
) -> ForecastReport:
    """The windows of a table, or those that training held out."""
    if data is None:
        held = read_held_out(directory, model, None, most=most)
        pasts = np.stack([np.asarray(row.source_values, np.float32) for row in held])
        wanted = np.stack([np.asarray(row.target_values, np.float32) for row in held])
    else:
        pasts, wanted = _windows(model, data, most)
    found = model.forecast_windows(pasts)[..., 0]
    off = np.abs(found - wanted)
    order = np.argsort(off.mean(axis=(1, 2)), kind="stable")
    ends = [
        model.forecast_with_actual(pasts[number], wanted[number])
        for number in (order[0], order[-1])
    ]
    kind, looks = _attention_views(model, list(pasts))
    block = model.shape.horizon if len(pasts) < most else 1
    errors = ForecastErrors.of(found, wanted, SeriesScale.of(model.target))
    return ForecastReport(
        **_report_header(directory, model, data),
        scores=tuple(score_all(ForecastErrors.join([errors], block=block))),
        report_rows=(),
        views=looks,
        scale=Scale("mean |error|", ""),
        views_heading=kind,
        forecasts=tuple(ends),
        by_step=tuple(off.mean(axis=(0, 2)).tolist()),
        windows=len(pasts),
    )


def _windows(model: Forecaster, data: Data, most: int) -> tuple[Numbers, Numbers]:
    """Windows of a table and what came after each, standardised."""
    table = model.read_table(data)
    starts, (window, horizon) = find_windows(table, model.shape, range(len(table)))
    if not len(starts):
        raise DataError(f"{table.file}: holds no whole window; give more rows")
    chosen = starts[even_indices(len(starts), most), None]
    read = model.source.scale(source_rows(table, horizon))
    targets = model.target.scale(table.values[:, : len(model.target.names)])
    return read[chosen - window + np.arange(window)], targets[chosen + np.arange(horizon)]


def _score_rows(model: Predictor, held: Sequence[HeldOutRow]) -> ReportRows:
    match model:
        case MaskFiller():
            return score_blanks(model, held)
        case TextPredictor() if model.is_language_model:
            return score_texts(model, held)
        case _:
            return score_outputs(model, held)


def _cells(model: Predictor, held: Sequence[HeldOutRow]) -> list[Cell]:
    """What can be looked into: sources, texts of a language model, or texts with a gap each."""
    alone = isinstance(model, TextPredictor) and model.is_language_model
    fitting = [row for row in held if _fits(row, alone)]
    if isinstance(model, MaskFiller):
        return [
            cell for row in fitting if (cell := _with_blank(model, row.source_values)) is not None
        ]
    return [row.target if alone else row.source_values for row in fitting]


def _with_blank(model: MaskFiller, values: Values) -> Values | None:
    """A text with a gap in its middle; None where no token of it can stand in one."""
    places = np.flatnonzero(model.target.fillable[values])
    if not len(places):
        return None
    gapped = values.copy()
    gapped[places[len(places) // 2]] = BLANK
    return gapped


def _fits(row: HeldOutRow, alone: bool) -> bool:
    """Whether an example is short enough, and there, to be looked into."""
    text = row.target if alone else row.source
    return bool(text.strip()) and len(
        row.target_values if alone else row.source_values
    ) <= LONGEST * (1 if row.source_values.ndim == 1 else 100)


def _attention_views(model: Predictor, cells: Sequence[Cell]) -> tuple[str, tuple[View, ...]]:
    """Attention of inputs spread over all; where the model has none, what mattered."""
    if not cells:
        return ATTENTION, ()
    if isinstance(model, Forecaster):
        return ATTRIBUTION, tuple(attribution_view(model, cell) for cell in _examples(cells))
    if not has_attention(model.network):
        short = [cell for cell in cells if len(cell) <= SHORT] or cells
        return ATTRIBUTION, tuple(attribution_view(model, cell) for cell in _examples(short))
    passes = [
        trace_output(model.network, output_to_explain(model, cell)) for cell in _examples(cells)
    ]
    found = [Attentions.from_trace(each) for each in passes]
    kind = found[0].kinds[0]
    if kind == "cross" and isinstance(model, TextPredictor) and is_media(model.source):
        return ATTENTION, tuple(attention_from_trace(model, each) for each in passes)
    return ATTENTION, tuple(each.select_map(kind) for each in found)


def _examples(cells: Sequence[Cell]) -> list[Cell]:
    """Three of them, or all, from the first to the last."""
    return [cells[place] for place in even_indices(len(cells), VIEWS)]


def _report_header(directory: RunDirectory, model: Predictor, data: Data | None) -> "ReportHeader":
    """What a report says of any run."""
    step = best_step(directory)
    progress = Progress.from_dict((directory.latest_checkpoint() or step).progress())
    return {
        "run": str(directory.path),
        "facts": _facts(directory, model, progress, step.number),
        "parts": tuple(_parts(parameter_lines(model.network))),
        "curves": Curves.of(directory.events()),
        "best": step.number,
        "options": tuple((name, str(value)) for name, value in flatten(model.config).items()),
        "repeat": _repeat(directory, data),
    }


class ReportHeader(TypedDict):
    """What a report says of any run."""

    run: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, str], ...]
    curves: Curves
    best: int
    options: tuple[tuple[str, str], ...]
    repeat: tuple[str, ...]


def _parts(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """A part's number of parameters and its name, from its line."""
    for line in lines:
        count, _, name = line.strip().partition("  ")
        yield count, name


def _facts(
    directory: RunDirectory, model: Predictor, progress: Progress, step: int
) -> tuple[tuple[str, str], ...]:
    """What was learnt from, how, and for how long."""
    facts = [
        ("source", model.source.describe()),
        ("target", model.target.describe()),
        ("parameters", f"{sum(each.numel() for each in model.network.parameters()):,}"),
        ("updates", f"{progress.step:,}; step {step:,} did best and is used"),
        ("time", f"{progress.seconds / 60:.1f} minutes"),
    ]
    for side, words in (("train", "rows learnt from"), ("valid", "rows held out")):
        try:
            facts.append((words, f"{len(Corpus.open(directory.cache_directory / side)):,}"))
        except RunError:
            continue
    facts += [(name, str(value)) for name, value in progress.surroundings.items()]
    facts += [("begun from", progress.origin)] if progress.origin else []
    return (*facts, ("seqloom", __version__))


def _repeat(directory: RunDirectory, data: Data | None) -> tuple[str, ...]:
    """Commands that lead here again; the run does not know where its data lies."""
    run = directory.path
    tested = data if isinstance(data, str | Path) else "TEST"
    return (
        f"seqloom train DATA --run NEW-RUN --config {run}/config.toml",
        f"seqloom evaluate {run} {tested}",
        f"seqloom report {run}" + (f" --data {tested}" if data is not None else ""),
    )
