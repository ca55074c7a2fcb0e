"""Common parts of the tasks whose outputs are compared with references: text, label, tags,
number.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seqloom.baselines.labels import TrainingRows, baselines
from seqloom.data import Data, Report
from seqloom.errors import ConfigError, DataError
from seqloom.explanations.explained_output import Cell, ExplainedLabels
from seqloom.explanations.media import group_features
from seqloom.metrics import Score, perplexity, score_all
from seqloom.prediction import HeadPredictor, Output, Predictor, ScoredOutput
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.warnings import WarningCounts
from seqloom.remedies import Setting
from seqloom.search import Search
from seqloom.tasks.evaluation import Evaluation, with_baselines
from seqloom.tasks.report_rows import HeldOutRow
from seqloom.tasks.task import Task

__all__ = [
    "baseline_scores",
    "encode_sources",
    "evaluate_outputs",
    "explain_labels",
    "perplexity_score",
    "refuse_output",
    "score_groups",
]

GROUP = 2_048  # rows scored together

Pairs = list[tuple[str, str]]


def score_groups(model: Predictor, rows: Pairs) -> Iterator[ScoredOutput]:
    """The log-probability of each target that can be scored, in groups of rows."""
    rows = [row for row in rows if model.can_score(row)]
    for start in range(0, len(rows), GROUP):
        yield from model.score_held_out(rows[start : start + GROUP])


def perplexity_score(scored: Sequence[ScoredOutput]) -> Score:
    """The perplexity of given outputs, without unseen labels, whose probability is 0."""
    scored = [each for each in scored if each.log_probability > -math.inf] or scored
    counts = [len(each.tokens) for each in scored]
    return perplexity([each.log_probability for each in scored], counts)


def encode_sources(model: Predictor, held: Sequence[HeldOutRow]) -> list[EncodedInput]:
    """The encoded sources of validation rows."""
    reader = model.input_reader
    return [reader.truncate(number, row.source_values) for number, row in enumerate(held)]


def evaluate_outputs(
    task: Task[Any],
    model: HeadPredictor,
    data: Data,
    options: Mapping[str, Any] | None,
    *,
    search: Search | None = None,
) -> Evaluation:
    """The metrics of a head's outputs, its perplexity if defined, and baselines."""
    report = Report()
    rows = [(row.source, row.target) for row in task.data_rows(model, data, options, report)]
    outputs = list(model.stream_cells((source for source, _ in rows), search=search))
    compared = task.predictions(outputs, [target for _, target in rows])
    scores = score_all(compared)
    if task.has_perplexity:
        scores.append(perplexity_score(list(score_groups(model, rows))))
    return with_baselines(
        Evaluation(
            report,
            tuple(scores),
            breakdowns=task.breakdowns(model, compared),
            warnings=WarningCounts.of(outputs),
            temperature=model.network.head.temperature,
        ),
        model,
        lambda place: baseline_scores(task, model, rows, place),
    )


def baseline_scores(
    task: Task[Any], model: Predictor, rows: Pairs, place: Path, *, lowercase: bool = False
) -> Mapping[str, Score]:
    """The main score of every baseline of this kind of target; RunError if the training rows are
    missing.
    """
    known = TrainingRows.open(place, model.source, model.target)
    sources = known.source.rows([source for source, _ in rows])
    references = [target for _, target in rows]
    return {
        name: task.metrics(outputs, references, lowercase=lowercase)[0]
        for name, outputs in baselines(known, sources).items()
    }


def explain_labels(
    model: HeadPredictor, cell: Cell, output: Output | str | None, *, one_for_each: bool
) -> ExplainedLabels:
    """An input with its label, or with a tag for each token."""
    values = model.encode_cell(cell)
    text = _output_text(model.predict_rows([values])[0] if output is None else output)
    wrong = model.target.fault(text)
    if wrong is not None:
        raise wrong.at(Setting("output"))
    ids = tuple(model.target.rows([text])[0].tolist())
    items = len(values) - model.source.closing
    if one_for_each and len(ids) != items:
        raise DataError(
            f"there are {len(ids)} tags for {items} {model.source.length_unit or 'tokens'}",
            place=Setting("output"),
            remedy="give each one tag",
        )
    names, labels = model.item_names(cell, values), tuple(model.target.tokens(ids))
    groups, fed_back = group_features(model, values), model.network.head.feeds_back
    return ExplainedLabels(names, labels, values, groups, ids, fed_back)


def refuse_output(model: Predictor, output: Output | str | None) -> None:
    """Raise ConfigError if the output to explain is not a label, tags or a text."""
    if output is not None:
        raise ConfigError(
            f"names a label or tags, and this model gives {model.target.describe()}",
            place=Setting("output"),
            remedy="leave it out",
        )


def _output_text(output: Output | str) -> str:
    return output if isinstance(output, str) else output.text
