"""A report of a run: what its directory holds, and what its model makes of held-out rows."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from seqloom.api.report_rows import Held, Verdicts, held_out, judge, judge_gaps, judge_texts
from seqloom.api.use import load
from seqloom.config import flatten
from seqloom.data import Corpus, Data, source_rows, spread, windows
from seqloom.drawing.curves import Curves
from seqloom.drawing.image_files import write_bytes
from seqloom.drawing.views import View
from seqloom.errors import DataError, RunError
from seqloom.explain.attention_heads import Attentions
from seqloom.explain.attribution_views import mattered
from seqloom.explain.explained_output import Cell, said_of
from seqloom.explain.media_attention import is_seen, seen_over
from seqloom.explain.tracing import attends, pass_over
from seqloom.fields import GAP, Values
from seqloom.metrics import error_scores, forecast_errors
from seqloom.prediction import Filler, Forecaster, Model, Predictor
from seqloom.reports.pages import ForecastReport, RunReport, Scale
from seqloom.runs.contents import best_step
from seqloom.runs.parameter_table import part_lines
from seqloom.runs.progress import Progress
from seqloom.store import RunDirectory
from seqloom.version import __version__

__all__ = ["report", "write_report"]

ROWS = 500  # that are judged
LOOKS = 3
Numbers = NDArray[np.float32]
ATTENTION, MATTERED = "Attention of three examples", "What mattered in three examples"
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
    held = held_out(directory, model, data, most=most)
    made = _judged(model, held)
    kind, looks = _looks(model, _cells(model, held))
    return RunReport(
        **_known(directory, model, data),
        scores=made.scores,
        judged=made.rows,
        looks=looks,
        scale=made.scale,
        looks_at=kind,
    )


def _forecast_report(
    directory: RunDirectory, model: Forecaster, data: Data | None, most: int
) -> ForecastReport:
    """The windows of a table, or those that training held out."""
    if data is None:
        held = held_out(directory, model, None, most=most)
        pasts = np.stack([np.asarray(row.values, np.float32) for row in held])
        wanted = np.stack([np.asarray(row.wanted, np.float32) for row in held])
    else:
        pasts, wanted = _windows(model, data, most)
    found = model.windows(pasts)[..., 0]
    off = np.abs(found - wanted)
    order = np.argsort(off.mean(axis=(1, 2)), kind="stable")
    ends = [model.compared(pasts[number], wanted[number]) for number in (order[0], order[-1])]
    kind, looks = _looks(model, list(pasts))
    block = model.shape.horizon if len(pasts) < most else 1
    return ForecastReport(
        **_known(directory, model, data),
        scores=tuple(error_scores(forecast_errors(found, wanted), block=block)),
        judged=(),
        looks=looks,
        scale=Scale("mean |error|", ""),
        looks_at=kind,
        forecasts=tuple(ends),
        by_step=tuple(off.mean(axis=(0, 2)).tolist()),
        windows=len(pasts),
    )


def _windows(model: Forecaster, data: Data, most: int) -> tuple[Numbers, Numbers]:
    """Windows of a table and what came after each, standardised."""
    table = model.read(data)
    starts, (window, horizon) = windows(table, model.shape, range(len(table)))
    if not len(starts):
        raise DataError(f"{table.file}: holds no whole window; give more rows")
    chosen = starts[spread(len(starts), most), None]
    read = model.source.scaled(source_rows(table, horizon))
    targets = model.target.scaled(table.values[:, : len(model.target.names)])
    return read[chosen - window + np.arange(window)], targets[chosen + np.arange(horizon)]


def _judged(model: Predictor, held: Sequence[Held]) -> Verdicts:
    match model:
        case Filler():
            return judge_gaps(model, held)
        case Model() if model.alone:
            return judge_texts(model, held)
        case _:
            return judge(model, held)


def _cells(model: Predictor, held: Sequence[Held]) -> list[Cell]:
    """What can be looked into: sources, texts of a language model, or texts with a gap each."""
    alone = isinstance(model, Model) and model.alone
    fitting = [row for row in held if _fits(row, alone)]
    if isinstance(model, Filler):
        return [cell for row in fitting if (cell := _gapped(model, row.values)) is not None]
    return [row.target if alone else row.values for row in fitting]


def _gapped(model: Filler, values: Values) -> Values | None:
    """A text with a gap in its middle; None where no token of it can stand in one."""
    places = np.flatnonzero(model.target.fillable[values])
    if not len(places):
        return None
    gapped = values.copy()
    gapped[places[len(places) // 2]] = GAP
    return gapped


def _fits(row: Held, alone: bool) -> bool:
    """Whether an example is short enough, and there, to be looked into."""
    text = row.target if alone else row.source
    return bool(text.strip()) and len(row.wanted if alone else row.values) <= LONGEST * (
        1 if row.values.ndim == 1 else 100
    )


def _looks(model: Predictor, cells: Sequence[Cell]) -> tuple[str, tuple[View, ...]]:
    """Attention of inputs spread over all; where the model has none, what mattered."""
    if not cells:
        return ATTENTION, ()
    if isinstance(model, Forecaster):
        return MATTERED, tuple(mattered(model, cell) for cell in _some(cells))
    if not attends(model.network):
        short = [cell for cell in cells if len(cell) <= SHORT] or cells
        return MATTERED, tuple(mattered(model, cell) for cell in _some(short))
    passes = [pass_over(model.network, said_of(model, cell)) for cell in _some(cells)]
    found = [Attentions.seen(each) for each in passes]
    kind = found[0].kinds[0]
    if kind == "cross" and isinstance(model, Model) and is_seen(model.source):
        return ATTENTION, tuple(seen_over(model, each) for each in passes)
    return ATTENTION, tuple(each.chosen(kind) for each in found)


def _some(cells: Sequence[Cell]) -> list[Cell]:
    """Three of them, or all, from the first to the last."""
    return [cells[place] for place in spread(len(cells), LOOKS)]


def _known(directory: RunDirectory, model: Predictor, data: Data | None) -> "Known":
    """What a report says of any run."""
    step = best_step(directory)
    progress = Progress.from_dict((directory.latest() or step).progress())
    return {
        "run": str(directory.path),
        "facts": _facts(directory, model, progress, step.number),
        "parts": tuple(_parts(part_lines(model.network))),
        "curves": Curves.of(directory.events()),
        "best": step.number,
        "options": tuple((name, str(value)) for name, value in flatten(model.config).items()),
        "repeat": _repeat(directory, data),
    }


class Known(TypedDict):
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
