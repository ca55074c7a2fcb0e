"""Optimize a run: measure int8 and shortlists, what each costs and gains, and keep the best."""

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.api.load import load_text_predictor
from seqloom.data import Corpus, Data, Report
from seqloom.engine.core_model import CompiledModel
from seqloom.engine.matrices import Precision
from seqloom.engine.selection import select_engine
from seqloom.engine.shortlists.shortlist import Missed, Pair, Shortlist
from seqloom.engine.stored_form import byte_count
from seqloom.errors import ConfigError, RunError
from seqloom.metrics import Score
from seqloom.prediction import TextPredictor
from seqloom.prediction.configured_search import search_from_config
from seqloom.runs.contents import load_config
from seqloom.runs.optimized import EngineChoice, save_optimized
from seqloom.store import RunDirectory
from seqloom.tasks import task_of
from seqloom.tasks.report_rows import HeldOutRow, encode_held_out, open_held_out

__all__ = ["MeasuredForm", "Optimization", "OptimizeRequest", "optimize"]

ROUNDS = 3  # of alternating measurements
ALONE = 40  # sentences decoded one at a time
LEARNT_ROWS = 1_000_000  # most training rows to learn a shortlist from
FORMS: tuple[tuple[Precision, bool], ...] = (
    ("float32", False),
    ("float32", True),
    ("int8", False),
    ("int8", True),
)


@dataclass(frozen=True)
class OptimizeRequest:
    """The rows to measure on, and the rule for choosing a form."""

    data: Data | None = None  # the run's held-out rows, if absent
    rows: int = 500
    loss: float = 0.2  # most of the leading metric that speed may cost
    choice: EngineChoice = EngineChoice()  # noqa: RUF009  (it is frozen)


@dataclass(frozen=True)
class MeasuredForm:
    """One form of a model (precision, shortlist), with its quality and speed on held-out rows."""

    precision: Precision
    shortlist: bool
    metric: str
    score: float
    objective: float  # the score, negated where lower is better
    equal: float  # share of outputs equal to those of float32 without a shortlist
    per_second: float  # sentences per second in batches
    milliseconds: float  # latency of a single sentence
    megabytes: float  # size of the weights

    @classmethod
    def of(
        cls,
        key: tuple[Precision, bool],
        score: Score,
        *,
        equal: float,
        seconds: tuple[float, float],
        size: float,
    ) -> "MeasuredForm":
        """A measured form; the times are seconds per sentence, in batches and alone."""
        together, alone = seconds
        return cls(
            *key,
            score.name,
            score.value,
            score.objective,
            equal,
            1 / together,
            1e3 * alone,
            size,
        )

    @property
    def name(self) -> str:
        """A short name."""
        return f"{self.precision}, shortlist" if self.shortlist else self.precision


@dataclass(frozen=True)
class Optimization:
    """All measured forms of a run, and the chosen one."""

    run: str
    rows: int
    forms: tuple[MeasuredForm, ...]
    chosen: MeasuredForm
    missed: Missed

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "missed": self.missed._asdict()}

    def lines(self) -> list[str]:
        """The same for people."""
        first = self.forms[0]
        header = ("", first.metric, "equal", "sentences/s", "ms for one", "weights, MB", "")
        table = [
            (
                form.name,
                f"{form.score:.2f}",
                f"{form.equal:.1%}",
                f"{form.per_second:,.0f}",
                f"{form.milliseconds:.2f}",
                f"{form.megabytes:.1f}",
                "kept" if form == self.chosen else "",
            )
            for form in self.forms
        ]
        missed = self.missed
        return [
            f"{self.run}: {self.rows:,} held-out rows",
            "",
            *align_columns(header, table),
            "",
            f"shortlist: {missed.size:,.0f} symbols a sentence, without {missed.tokens:.2%} of the "
            f"tokens of held-out targets, in {missed.sentences:.1%} of the sentences",
        ]


def optimize(run: str | Path, request: OptimizeRequest | None = None) -> Optimization:
    """Measure every form of a run on held-out rows, and keep the best in the run.

    The best is the fastest within the request's tolerance, or the one it names.
    """
    directory = RunDirectory(Path(run))
    load_config(directory)  # checked before the lock, which would create the directory
    with directory.lock():  # so that training does not replace the measured step
        return _optimize(directory, request or OptimizeRequest())


def _optimize(directory: RunDirectory, asked: OptimizeRequest) -> Optimization:
    model = load_text_predictor(directory.path, precision="float32", shortlist=False)
    require_core(model)
    require_symbols(model)
    shortlist = learn_shortlist(directory, model)
    held = _open_rows(directory, model, asked)
    models = dict(_forms(model, shortlist))
    forms = measure_forms(models, held)
    chosen = choose_form(forms, asked)
    missed = shortlist.count_missing([(row.source_values, row.target_values) for row in held])
    made = Optimization(str(directory.path), len(held), tuple(forms), chosen, missed)
    facts = {
        "precision": chosen.precision,
        "shortlist": chosen.shortlist,
        "positions": _positions(model),
        "measured": made.as_dict(),
    }
    save_optimized(directory, require_core(models["int8", False]), shortlist, facts)
    return made


def require_core(model: TextPredictor) -> CompiledModel:
    """The model's engine; ConfigError unless the compiled core runs both sides."""
    if model.engine is None or model.engine.compiled is None:
        raise ConfigError(
            f"the compiled engine does not run both sides of this model: {model.describe_engine()}",
            remedy="use it as it is",
        )
    return model.engine.compiled


def require_symbols(model: TextPredictor) -> None:
    """ConfigError if the source has no symbols to learn shortlists from, or reads letters too."""
    symbols = model.source.items.symbols
    if symbols is None or symbols.spelling:
        raise ConfigError(
            f"shortlists are learnt from symbols, and the source is {model.source.describe()}",
            remedy="use it as it is",
        )


def learn_shortlist(directory: RunDirectory, model: TextPredictor) -> Shortlist:
    """Learn a shortlist of target symbols for each source symbol from the training rows."""
    try:
        corpus = Corpus.open(directory.cache_directory / "train")
    except RunError:
        raise RunError(
            "its training rows, from which a shortlist is learnt, are no longer there",
            place=str(directory.path),
            remedy="train it on, which writes them anew",
        ) from None
    sizes = model.source.items.count, model.target.items.count
    return Shortlist.learn(list(_pairs(corpus)), sizes)


def _pairs(corpus: Corpus) -> Iterator[Pair]:
    """Pairs of source and target ids; an evenly spaced sample of very many rows."""
    sides = []
    for side in ("source", "target"):
        values, rows = corpus.flat(side)
        sides.append(np.split(np.asarray(values), np.flatnonzero(np.diff(rows)) + 1))
    step = -(-len(corpus) // LEARNT_ROWS)
    yield from list(zip(*sides, strict=True))[::step]


def _open_rows(
    directory: RunDirectory, model: TextPredictor, asked: OptimizeRequest
) -> list[HeldOutRow]:
    if asked.data is None:
        return open_held_out(directory, model, most=asked.rows)
    rows = list(task_of(model.config).data_rows(model, asked.data, None, Report()))
    return encode_held_out(model, rows, most=asked.rows)


def _forms(
    model: TextPredictor, shortlist: Shortlist
) -> Iterator[tuple[tuple[Precision, bool], TextPredictor]]:
    """Every form: each precision, with and without the shortlist."""
    for precision, short in FORMS:
        words = shortlist if short else None
        engine = select_engine(model.network, precision=precision, shortlist=words)
        yield (precision, short), replace(model, engine=engine)


def measure_forms(
    models: Mapping[tuple[Precision, bool], TextPredictor], held: Sequence[HeldOutRow]
) -> list[MeasuredForm]:
    """Measure the forms on the same rows in alternating rounds; times are medians."""
    times: dict[tuple[Precision, bool], list[tuple[float, float]]] = {key: [] for key in models}
    texts: dict[tuple[Precision, bool], list[str]] = {}
    rows = [row.source_values for row in held]
    for _ in range(ROUNDS):
        for key, model in models.items():
            search = search_from_config(model.config.search, 1)
            model.predict_rows(rows[:2], search=search)
            began = time.perf_counter()
            texts[key] = [output.text for output in model.predict_rows(rows, search=search)]
            between = time.perf_counter()
            for row in rows[:ALONE]:
                model.predict_rows([row], search=search)
            alone = (time.perf_counter() - between) / min(ALONE, len(rows))
            times[key].append((between - began, alone))
    first, references = texts[FORMS[0]], [row.target for row in held]
    return [
        MeasuredForm.of(
            key,
            task_of(model.config).metrics(texts[key], references, seed=None)[0],
            equal=sum(map(str.__eq__, texts[key], first)) / len(rows),
            seconds=(statistics.median(all_) / len(rows), statistics.median(alone)),
            size=_megabytes(model),
        )
        for (key, model), (all_, alone) in zip(
            models.items(), (zip(*times[key], strict=True) for key in models), strict=True
        )
    ]


def choose_form(forms: Sequence[MeasuredForm], asked: OptimizeRequest) -> MeasuredForm:
    """The form that the request names, or the fastest within its tolerance."""
    choice, least = asked.choice, forms[0].objective - asked.loss
    named = [
        form
        for form in forms
        if choice.precision in (None, form.precision) and choice.shortlist in (None, form.shortlist)
    ]
    good = [form for form in named if form.objective >= least]
    return max(good or named, key=lambda form: form.per_second if good else form.objective)


def _megabytes(model: TextPredictor) -> float:
    """Megabytes of the core's weights."""
    form = require_core(model)
    return sum(byte_count(side.stack) for side in (form.encoder, form.decoder)) / 2**20


def _positions(model: TextPredictor) -> int:
    """The greatest number of positions of an input or output, rounded up to a power of two."""
    most, options = model.config.data.max_source + model.source.closing, model.config.search
    longest = max(most, int(most * options.max_ratio) + options.max_extra)
    return 1 << max(8, (longest - 1).bit_length())


def align_columns(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Format rows of cells as columns; the first is left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]
