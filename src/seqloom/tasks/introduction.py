"""The introduction of a model: what it does, how well, and examples."""

from dataclasses import dataclass
from typing import Any

from seqloom.data import DataIdentity
from seqloom.errors import ConfigError, RunError
from seqloom.explanations.explained_output import ExplainedOutput
from seqloom.explanations.tracing import Trace, trace_output
from seqloom.prediction import Predictor
from seqloom.prediction.configured_search import search_from_config
from seqloom.runs.contents import likely_best_step
from seqloom.runs.progress import Progress
from seqloom.store import RunDirectory
from seqloom.tasks.examples import ExampleInput
from seqloom.tasks.report_rows import open_held_out
from seqloom.tasks.task import task_of

__all__ = ["Introduction", "held_out_traces", "introduce", "own_output"]

ROWS = 200  # validation rows from which examples are chosen


@dataclass(frozen=True)
class Introduction:
    """A model's introduction for visitors."""

    verb: str  # the label of the button that runs the model
    summary: str  # its source and target
    data: str = ""  # what it learnt from
    result: str = ""  # its main validation score, with the interval
    examples: tuple[ExampleInput, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        examples = [each._asdict() for each in self.examples]
        return {**vars(self), "examples": examples}


def introduce(model: Predictor) -> Introduction:
    """Introduce a model: without a run, by its source and target alone; examples are omitted if the
    rows are missing.
    """
    task = task_of(model.config)
    verb = task.verb_of(model.config)
    summary = task.describe_fields(model.source, model.target)
    if model.training_rows is None:
        return Introduction(verb, summary)
    directory = RunDirectory(model.training_rows.parents[1])
    data, result = _describe_progress(model, directory)
    try:
        examples = task.examples(model, open_held_out(directory, model, most=ROWS))
    except RunError:
        examples = []
    return Introduction(verb, summary, data, result, tuple(examples))


def held_out_traces(model: Predictor, most: int) -> list[Trace]:
    """Traces of the model on validation rows with their targets; ConfigError if there are none."""
    if model.training_rows is None:
        raise ConfigError("this model has no held-out rows here", remedy="serve the run itself")
    directory = RunDirectory(model.training_rows.parents[1])
    task = task_of(model.config)
    found = []
    for row in open_held_out(directory, model, most=most):
        if model.is_language_model:
            explained = task.explain(model, row.target, None)
        else:
            explained = task.explain(model, row.source_values, row.target)
        found.append(trace_output(model.network, explained))
    return found


def own_output(model: Predictor, explained: ExplainedOutput) -> dict[str, Any]:
    """The model's own output for an explained input, as plain values for JSON; for a language
    model, the explained text.
    """
    if model.is_language_model:
        return {"text": "", "tokens": []}
    writer = model.as_text_predictor()
    if writer is None:
        (found,) = model.predict_rows([explained.values])
    else:
        search = search_from_config(model.config.search, 1)
        (found,) = writer.predict_rows([explained.values], search=search)
    return {"text": found.text, "tokens": [token.as_dict() for token in found.tokens]}


def _describe_progress(model: Predictor, directory: RunDirectory) -> tuple[str, str]:
    """The run's training data, and its best validation result."""
    try:
        step = likely_best_step(directory)
        progress = Progress() if step is None else Progress.from_dict(step.progress())
        learnt, held = (_describe_files(progress, side) for side in ("train", "valid"))
    except RunError:
        return "", ""
    best = progress.best(model.config.training.monitor)
    if best is None or not best.scores:
        words = "" if best is None else task_of(model.config).describe_loss(best.loss)
    else:
        (name, value), *_ = best.scores.items()
        digits = task_of(model.config).digits
        words = f"{name} {value:.{digits}f}"
        if best.interval:
            words += f" ({best.interval['low']:.{digits}f}–{best.interval['high']:.{digits}f})"
    data = f"learnt from {learnt}" if learnt else ""
    return data, f"{words} on {held or 'held-out rows'}" if words else ""


def _describe_files(progress: Progress, side: str) -> str:
    if side not in progress.files:
        return ""
    files = DataIdentity.from_dict(progress.files[side]).files
    names = files[0].name if len(files) == 1 else f"{len(files)} files"
    return f"{sum(each.rows for each in files):,} {files[0].unit} of {names}"
