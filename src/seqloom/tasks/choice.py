"""Which task a configuration, or a request to train, is for; the learner of a prepared run."""

from typing import Any

from seqloom.config import Config
from seqloom.data import Corpus
from seqloom.explanations.explained_output import Cell, ExplainedOutput, ExplainedText
from seqloom.prediction import Output, Predictor, TextPredictor
from seqloom.runs.contents import load_config, load_fields
from seqloom.runs.learner import Learner, new_network
from seqloom.runs.request import TrainingRequest
from seqloom.store import RunDirectory
from seqloom.tasks.language_model import LANGUAGE_MODEL
from seqloom.tasks.task import TASKS, Task
from seqloom.tasks.text import TEXT

__all__ = [
    "explain_output",
    "explain_text",
    "open_learner",
    "task_of",
    "task_of_options",
    "task_of_request",
]

WITHOUT_SOURCE = {"text": "language model"}  # tasks whose target has no source, by its kind


def task_of(config: Config) -> Task[Any]:
    """The task of a configuration: by the kind of its target, and whether there is a source."""
    kind = config.target.kind
    chosen = WITHOUT_SOURCE.get(kind, kind) if config.source.kind == "none" else kind
    return TASKS.part_of(chosen)


def explain_output(
    model: Predictor, cell: Cell, output: Output | str | None = None
) -> ExplainedOutput:
    """An input with the model's output for it, or with this one, as what can be explained."""
    return task_of(model.config).explain(model, cell, output)


def explain_text(
    model: TextPredictor, cell: Cell, output: Output | str | None = None
) -> ExplainedText:
    """The same for a model that writes text."""
    task = LANGUAGE_MODEL if model.is_language_model else TEXT
    return task.explain(model, cell, output)


def task_of_request(directory: RunDirectory, request: TrainingRequest) -> Task[Any]:
    """The task of a run that goes on, or else of the one that is asked for."""
    if directory.exists and directory.latest_checkpoint() is not None:
        return task_of(load_config(directory))
    return task_of_options(request)


def task_of_options(request: TrainingRequest) -> Task[Any]:
    """The task that is asked for; ConfigError where the options cannot be, before any data is
    read."""
    config = request.outline()
    task = task_of(config)
    task.check_columns(config)
    return task


def open_learner(directory: RunDirectory) -> Learner:
    """The learner of a run, from its newest sound step on."""
    config = load_config(directory)
    source, target = load_fields(directory, config)
    network = new_network(config, source, target)
    corpus = Corpus.open(directory.cache_directory / "train")
    learner = Learner(config, network, corpus, task_of(config).masking(config, target))
    learner.resume(directory)
    return learner
