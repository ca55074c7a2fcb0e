"""A finished run in use: load it, score and evaluate with it, describe it."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from seqloom.baselines.labels import TrainingRows, baselines
from seqloom.config import DataConfig, merge, one_column, validate
from seqloom.data import Columns, Data, Report, Row, read_rows, usable_rows
from seqloom.errors import ConfigError, RunError
from seqloom.fields import BlanksField, NumberField
from seqloom.metrics import Score, perplexity, target_scores
from seqloom.model import build
from seqloom.prediction import (
    Forecaster,
    HeadPredictor,
    MaskFiller,
    Predictor,
    ScoredOutput,
    TextPredictor,
    ensemble,
)
from seqloom.runs.contents import best_step, load_config, load_fields, model_weights
from seqloom.runs.parameter_table import parameter_lines
from seqloom.runs.predictor import predictor
from seqloom.runs.progress import Progress, Validation
from seqloom.runs.weights import check_fit, load_weights, materialize, meta_device
from seqloom.search import Search
from seqloom.store import RunDirectory
from seqloom.tasks.blanks_evaluation import bigram_score, mask_filling_scores
from seqloom.tasks.language_evaluation import language_scores, ngram_scores
from seqloom.tasks.series_evaluation import SeriesEvaluation, evaluate_series

__all__ = [
    "Evaluation",
    "data_rows",
    "describe",
    "evaluate",
    "load",
    "load_text_predictor",
    "score_rows",
]

GROUP = 2_048  # rows scored together
MIN_LOG_PROBABILITY = (
    -700.0
)  # mean log-probability of which there is a perplexity: exp(709) is the last in float


def load(run: str | Path, *others: str | Path) -> Predictor:
    """The model of a run: the step that did best on held-out data, averaged if so configured.

    With `others`, runs of the same vocabularies, a model that averages what all of them think.
    """
    return ensemble([_load(each) for each in (run, *others)])


def _load(run: str | Path) -> Predictor:
    directory = RunDirectory(Path(run))
    config = load_config(directory)
    source, target = load_fields(directory, config)
    step = best_step(directory)
    tensors = model_weights(step)
    with meta_device():
        network = build(config.model, source=source.items, target=target.items)
    check_fit(network, tensors, place=str(step.path))
    materialize(network)
    load_weights(network, tensors, place=str(step.path))
    return predictor(config, source, target, network.eval(), settled=directory)


def load_text_predictor(run: str | Path, *others: str | Path) -> TextPredictor:
    """The same for runs whose target is text; ConfigError for any other."""
    model = load(run, *others)
    if isinstance(model, HeadPredictor):
        raise ConfigError(
            f"{run} gives {model.target.describe()}, not text, and this works for models that "
            "write: use predict --alternatives, evaluate or describe"
        )
    return model


@dataclass(frozen=True)
class Evaluation:
    """How a model does on a data set."""

    report: Report
    scores: tuple[Score, ...]
    baselines: Mapping[str, Score] = field(default_factory=dict)  # by the score that leads
    note: str = ""  # why there are none

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = {"rows": self.report.kept, "scores": [score.as_dict() for score in self.scores]}
        if self.baselines:
            found["baselines"] = {name: each.as_dict() for name, each in self.baselines.items()}
        return found

    def lines(self) -> list[str]:
        """A line for each metric, with its 95 % interval and how it was computed, and one for what
        each baseline reaches."""
        rows = self.report.lines() if self.report.total_dropped else [f"{self.report.kept:,} rows"]
        beside = [f"{name}: {score}" for name, score in self.baselines.items()]
        beside += [self.note] if self.note else []
        own = [f"{score!s:<32} {score.signature}" for score in self.scores]
        return [*rows, *own, *(["", "baselines", *beside] if beside else [])]


def evaluate(
    model: Predictor,
    data: Data,
    *,
    options: Mapping[str, Any] | None = None,
    search: Search | None = None,
    lowercase: bool = False,
) -> Evaluation | SeriesEvaluation:
    """The metrics that fit the target field, each with a 95 % bootstrap interval.

    ConfigError where a search or `lowercase` is asked of a model that writes nothing for its data.
    """
    _check_options(model, search, lowercase=lowercase)
    if isinstance(model, Forecaster):
        return evaluate_series(model, data, options=options)
    report = Report()
    rows = [(row.source, row.target) for row in data_rows(model, data, options, report)]
    references = [target for _, target in rows]
    if isinstance(model, TextPredictor) and model.is_language_model:
        return _evaluate_language_model(model, references, report)
    if isinstance(model, MaskFiller):
        return _evaluate_blanks(model, references, report)
    outputs = [output.text for output in model.predict((s for s, _ in rows), search=search)]
    kind = model.target.config.kind
    scores = target_scores(kind, outputs, references, lowercase=lowercase)
    if not isinstance(model.target, NumberField):
        parts = (rows[start : start + GROUP] for start in range(0, len(rows), GROUP))
        scored = [each for part in parts for each in model.score(part)]
        counts = [len(each.tokens) for each in scored]
        scores.append(perplexity([each.log_probability for each in scored], counts))
    if isinstance(model, HeadPredictor) and model.training_rows is not None:
        return Evaluation(
            report, tuple(scores), *_baseline_scores(model, model.training_rows, rows)
        )
    return Evaluation(report, tuple(scores))


def _check_options(model: Predictor, search: Search | None, *, lowercase: bool) -> None:
    """ConfigError where what is asked would change nothing."""
    if isinstance(model, TextPredictor) and not model.is_language_model:
        return
    if search is not None:
        raise ConfigError(f"{_describe_task(model)} and does not search: leave search options out")
    if lowercase:
        raise ConfigError(
            f"--lowercase compares written texts, and {_describe_task(model)}: leave it out"
        )


def _describe_task(model: Predictor) -> str:
    """What a model that writes nothing does with its data."""
    match model:
        case Forecaster():
            return "a model of series forecasts"
        case MaskFiller():
            return "a model of gaps fills them in"
        case HeadPredictor():
            return f"a model of {model.target.config.kind.rstrip('s')}s judges"
        case _:
            return "a language model foretells given texts"


def _baseline_scores(
    model: HeadPredictor, place: Path, rows: list[tuple[str, str]]
) -> tuple[dict[str, Score], str]:
    """The leading score of every baseline that fits the target, or why there are none."""
    try:
        known = TrainingRows.open(place, model.source, model.target)
    except RunError:
        return {}, f"none: the training rows in {place} are gone; train on to have them back"
    kind = model.target.config.kind
    sources = model.source.rows([source for source, _ in rows])
    references = [target for _, target in rows]
    found = {
        each.name: target_scores(kind, each.outputs, references)[0]
        for each in baselines(known, sources)
    }
    return found, ""


def _evaluate_language_model(model: TextPredictor, texts: list[str], report: Report) -> Evaluation:
    """How well a language model foretells texts, beside n-grams of what it has learnt from."""
    scores = tuple(language_scores(model, texts))
    return _with_baselines(
        Evaluation(report, scores),
        model.training_rows,
        lambda place: ngram_scores(model, texts, place),
    )


def _evaluate_blanks(model: MaskFiller, texts: list[str], report: Report) -> Evaluation:
    """How often each token of texts is told from all others, beside pairs of neighbours that were
    counted in what the model has learnt from."""
    scores = tuple(mask_filling_scores(model, texts))
    return _with_baselines(
        Evaluation(report, scores),
        model.training_rows,
        lambda place: bigram_score(model, texts, place),
    )


def _with_baselines(
    found: Evaluation, known: Path | None, counted: Callable[[Path], dict[str, Score]]
) -> Evaluation:
    """The evaluation with what counting the training rows gives, or why that cannot be had."""
    if known is None:
        return found
    try:
        return replace(found, baselines=counted(known))
    except RunError:
        gone = f"none: the training rows in {known} are gone; train on to have them back"
        return replace(found, note=gone)


def score_rows(
    model: Predictor, data: Data, *, options: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """For each row its log-probability and that of each of its tokens, in a stream.

    Values are plain; those that JSON cannot have are None.
    """
    rows = iter(data_rows(model, data, options, Report()))
    size = (
        None if isinstance(model, TextPredictor) and model.is_stream else GROUP
    )  # one text is one group
    while group := list(islice(rows, size)):
        pairs = [(row.source, row.target) for row in group]
        for row, scored in zip(group, _score_pairs(model, pairs), strict=True):
            plain = scored.as_dict()
            yield {
                "place": str(row.place),
                "source": row.source,
                "target": row.target,
                "score": plain["score"],
                "perplexity": _perplexity(scored),
                "tokens": plain["tokens"],
            }


def _perplexity(scored: ScoredOutput) -> float | None:
    """That of one row; None where it is beyond all numbers, or nearly so."""
    mean = scored.log_probability / len(scored.tokens)
    return math.exp(-mean) if mean >= MIN_LOG_PROBABILITY else None


def _score_pairs(model: Predictor, pairs: list[tuple[str, str]]) -> list[ScoredOutput]:
    if isinstance(model, TextPredictor) and model.is_stream:
        return model.score_text([target for _, target in pairs])
    return model.score(pairs)


def describe(run: str | Path) -> list[str]:
    """A run in words: fields, parts with their parameter counts, held-out results."""
    model = load(run)
    config, directory = model.config, RunDirectory(Path(run))
    step = best_step(directory)
    latest = directory.latest_checkpoint() or step
    progress = Progress.from_dict(latest.progress())
    lines = [f"{directory.path}: step {step.number}"]
    lines += [f"begun from {progress.origin}"] if progress.origin else []
    for side, column in (("source", model.source), ("target", model.target)):
        lines.append(f"{side}: {column.describe()}")
    lines += ["", "parameters by part"]
    lines += parameter_lines(model.network)
    lines += ["", "held-out results"]
    lines += [
        f"{each.step:>8,}  {each.describe(config.target.kind)}{_exposure_gap(each)}"
        f"{'  used' * (each.step == step.number)}"
        for each in progress.validations
    ]
    return lines


def _exposure_gap(validation: Validation) -> str:
    """The exposure gap, where one was measured."""
    return f", exposure gap {validation.gap:.3f}" if validation.gap else ""


def data_rows(
    model: Predictor, data: Data, options: Mapping[str, Any] | None, report: Report
) -> Iterator[Row]:
    """Rows read as the run's own data was, without weights, unless the options say otherwise."""
    own = merge(model.config.model_dump(mode="json"), {"data": {"weight": ""}})
    asked = options or {}
    if isinstance(model.target, BlanksField) and {"source", "target"} & set(asked.get("data", {})):
        asked = merge(asked, {"data": one_column(asked["data"])})
    tables = merge(own, asked)
    config: DataConfig = validate(tables, place="options").data
    columns = Columns(model.source, model.target, config)
    return usable_rows(read_rows(data, config, report), columns, report)
