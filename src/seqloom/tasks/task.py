"""A task: everything specific to one kind of target, from its data to its reports."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple

from seqloom.config import Config, DataConfig, check_columns, merge, validate
from seqloom.data import (
    Columns,
    Corpus,
    Data,
    Masking,
    Report,
    Row,
    read_rows,
    usable_rows,
)
from seqloom.drawing.views import View
from seqloom.engine.core_model import warn_once
from seqloom.engine.selection import select_engine
from seqloom.errors import ConfigError
from seqloom.explanations.explained_output import Cell, ExplainedOutput
from seqloom.fields import Field
from seqloom.metrics import Predictions, Score, target_scores
from seqloom.model import Network, build
from seqloom.model.networks import check_fit, load_weights
from seqloom.nn.modules import materialize, meta_device
from seqloom.prediction import Output, Predictor
from seqloom.registry import Family
from seqloom.remedies import NEUTRAL, Setting, Wording
from seqloom.runs.contents import (
    choose_step,
    copying_helps,
    load_config,
    load_fields,
    model_weights,
    step_validation,
)
from seqloom.runs.data_check import check_rows
from seqloom.runs.findings import COMMON_CHECKS, DataCheck, run_checks
from seqloom.runs.held_out import AnyPredictor, HeldOut
from seqloom.runs.learner import Learner, new_network
from seqloom.runs.optimized import EngineChoice, OptimizedRun, choose_engine
from seqloom.runs.prepare import PreparedData, prepare_rows
from seqloom.runs.progress import TrainingObserver, Validation
from seqloom.runs.request import RunDraft, TrainingRequest, check_network, draft_rows
from seqloom.search import Search
from seqloom.store import Checkpoint, RunDirectory
from seqloom.tasks.evaluation import Breakdown, EvaluationResult
from seqloom.tasks.examples import ExampleInput, name_field, source_examples
from seqloom.tasks.report_rows import (
    HeldOutResults,
    HeldOutRow,
    ReportRows,
    encode_held_out,
    open_held_out,
)
from seqloom.tasks.views import explanation_views

__all__ = [
    "TASKS",
    "Task",
    "explain_output",
    "load_network",
    "open_learner",
    "read_best_network",
    "read_network",
    "task_of",
    "task_of_options",
]

EXAMPLES = {  # of inputs other than text
    "label": "a label",
    "vector": "0.5 -1 3",
    "vectors": "[[0.5, -1], [3, 2]]",
    "picture": "picture.png",
    "sound": "recording.wav",
    "video": "video.mp4",
    "none": "a beginning",
}
MAX_LOSS = 99.0  # largest loss whose perplexity is shown


class Task(ABC, Generic[AnyPredictor]):
    """The behaviour specific to one kind of target; stateless, with one instance per kind."""

    kind: ClassVar[str]  # of the target column
    digits: ClassVar[int] = 1  # decimals of a validation score
    has_perplexity: ClassVar[bool] = True  # whether the loss is a mean log-probability
    decodes: ClassVar[bool] = False  # whether outputs come from a search
    data_checks: ClassVar[tuple[DataCheck, ...]] = ()  # of the target, beside those of any table
    more_outputs: ClassVar[str] = "--alternatives 3"  # the option that shows the next best
    verb: ClassVar[str] = "Predict"  # the label of the button that runs a model

    def check_columns(self, config: Config) -> None:
        """Raise ConfigError if the columns do not fit together; data is not needed."""
        check_columns(config)

    def check_config(self, config: Config) -> None:
        """Raise ConfigError if a run cannot be trained as configured."""
        self.check_columns(config)
        check_network(config)

    def draft(self, request: TrainingRequest, watch: TrainingObserver) -> RunDraft[Any]:
        """Survey the data and plan a new run before anything is written; report the grave findings
        of `seqloom check`."""
        draft = draft_rows(request, watch, check=self.check_config)
        checks = (*COMMON_CHECKS, *self.data_checks)
        for finding in run_checks(checks, request.data, draft.config, draft.content, None):
            if finding.grave:
                watch.on_message(f"look at this: {NEUTRAL.remedy(finding.sentence)}")
        return draft

    def prepare(
        self,
        directory: RunDirectory,
        request: TrainingRequest,
        watch: TrainingObserver,
        *,
        draft: RunDraft[Any] | None = None,
    ) -> PreparedData:
        """Create or load a run's configuration, fields and encoded data."""
        return prepare_rows(directory, request, watch, draft=draft, check=self.check_config)

    def check_data(
        self, request: TrainingRequest, wording: Wording, watch: TrainingObserver
    ) -> Iterator[str]:
        """Describe the data and the training it would lead to, as lines of text."""
        check, checks = self.check_config, (*COMMON_CHECKS, *self.data_checks)
        return check_rows(request, watch, check=check, data_checks=checks, wording=wording)

    def masking(self, config: Config, target: Any) -> Masking | None:
        """How source tokens are masked in training; None if they are not."""
        return None

    @abstractmethod
    def predictor(
        self,
        config: Config,
        source: Any,
        target: Any,
        network: Any,
        *,
        run: RunDirectory | None = None,
    ) -> AnyPredictor:
        """A predictor with this network; given its run, with the fastest engine for it."""

    def calibrate(self, network: Any, found: Validation) -> None:
        """Calibrate the confidences of a trained network by its held-out results; a no-op unless
        outputs are classes."""

    @abstractmethod
    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOut[AnyPredictor]:
        """The evaluation of weights on validation rows, by loading them into this network."""

    @abstractmethod
    def guess_loss(self, train: Corpus, valid: Corpus, target: Field) -> float:
        """The validation loss of a model that ignores its source."""

    def data_options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """A user's options for reading rows, completed."""
        return options

    def data_rows(
        self,
        model: AnyPredictor,
        data: Data,
        options: Mapping[str, Any] | None,
        report: Report,
    ) -> Iterator[Row]:
        """Rows to evaluate, read with the run's columns; `skip_bad` and `weight` of training do not
        carry over, so options must set them."""
        reading = {"weight": "", "skip_bad": False}
        own = merge(model.config.model_dump(mode="json"), {"data": reading})
        tables = merge(own, self.data_options(options or {}))
        config: DataConfig = validate(tables, place="options").data
        columns = Columns(model.source, model.target, config, held_out=True)
        return usable_rows(read_rows(data, config, report), columns, report)

    @abstractmethod
    def describe(self, config: Config) -> str:
        """What a model does with its inputs, such as `a model of labels judges`."""

    def verb_of(self, config: Config) -> str:
        """The label of the button that runs a model."""
        return self.verb

    def describe_fields(self, source: Field, target: Field) -> str:
        """A short description of a model's source and target."""
        return f"From {name_field(source)} to {name_field(target)}"

    def examples(self, model: AnyPredictor, held: Sequence[HeldOutRow]) -> list[ExampleInput]:
        """Validation rows as example inputs; empty if they cannot be sent in their original
        form.
        """
        return source_examples(model, held)

    def check_evaluation(
        self, config: Config, search: Search | None, *, lowercase: bool = False
    ) -> None:
        """Raise ConfigError if an option would have no effect on an evaluation."""
        if search is not None:
            raise ConfigError(
                f"{self.describe(config)} and does not search", remedy="leave search options out"
            )
        if lowercase:
            raise ConfigError(
                f"compares written texts, and {self.describe(config)}",
                place=Setting("lowercase"),
                remedy="leave it out",
            )

    @abstractmethod
    def evaluate(
        self,
        model: AnyPredictor,
        data: Data,
        *,
        options: Mapping[str, Any] | None = None,
        search: Search | None = None,
        lowercase: bool = False,
    ) -> EvaluationResult:
        """The metrics that fit the target, each with a 95 % bootstrap interval."""

    def metrics(
        self,
        outputs: Sequence[str],
        references: Sequence[str],
        *,
        lowercase: bool = False,
        seed: int | None = 1,
    ) -> list[Score]:
        """The metrics of outputs, the main one first; without a seed they have no intervals."""
        return target_scores(self.kind, outputs, references, lowercase=lowercase, seed=seed)

    def predictions(self, outputs: Sequence[Output], references: Sequence[str]) -> Predictions:
        """Outputs beside their references, as metrics compare them."""
        return Predictions(self.kind, [each.text for each in outputs], references)

    def breakdowns(self, model: AnyPredictor, data: Predictions) -> tuple[Breakdown, ...]:
        """Breakdowns of the scores, such as scores per class; empty for most tasks."""
        return ()

    def describe_loss(self, loss: float) -> str:
        """A validation loss in a familiar unit."""
        return f"perplexity {math.exp(min(loss, MAX_LOSS)):.2f}"

    def describe_validation(self, validation: Validation) -> str:
        """Held-out results in a line."""
        scores = (f"{name} {value:.{self.digits}f}" for name, value in validation.scores.items())
        return ", ".join([self.describe_loss(validation.loss), *scores])

    def report(
        self, directory: RunDirectory, model: AnyPredictor, data: Data | None, *, most: int
    ) -> HeldOutResults:
        """Results on rows of this data, or on the validation rows, for a report."""
        if data is None:
            held = open_held_out(directory, model, most=most)
        else:
            rows = list(self.data_rows(model, data, None, Report()))
            held = encode_held_out(model, rows, most=most)
        made = self.report_rows(model, held)
        heading, views = self.views(model, self.cells(model, held))
        return HeldOutResults(
            made.scores, views, heading, made.scale, made.rows, breakdowns=made.breakdowns
        )

    @abstractmethod
    def report_rows(self, model: AnyPredictor, held: Sequence[HeldOutRow]) -> ReportRows:
        """Validation rows with the model's output and score for each."""

    def cells(self, model: AnyPredictor, held: Sequence[HeldOutRow]) -> list[Cell]:
        """The inputs of validation rows that are short enough to be explained."""
        return [row.source_values for row in held if row.is_short(row.source, row.source_values)]

    def views(self, model: AnyPredictor, cells: Sequence[Cell]) -> tuple[str, tuple[View, ...]]:
        """Explanations of a few inputs, and their heading."""
        return explanation_views(model, cells, self.explain)

    @abstractmethod
    def explain(
        self, model: AnyPredictor, cell: Cell, output: Output | str | None = None
    ) -> ExplainedOutput:
        """An input, encoded or not, with the model's output for it or with the given one."""

    def example_command(self, config: Config, run: Path, data: str) -> str:
        """The command that uses a finished run."""
        if config.data.columns:
            columns = "\\t".join(f"your {name}" for name in _column_titles(config.data))
            return f"printf '{columns}\\n' | seqloom predict {run}"
        example = EXAMPLES.get(config.source.kind, "your text")
        return f"echo '{example}' | seqloom predict {run}"


def _column_titles(data: DataConfig) -> list[str]:
    """The title of each source column: its name, or `column 3`."""
    names = data.source_columns
    return [f"column {name}" if name.isdecimal() else name for name in names]


TASKS: Family[Any, Task[Any]] = Family("task", home="seqloom.tasks")

WITHOUT_SOURCE = {"text": "language model"}  # tasks without a source, by kind of target


def task_of(config: Config) -> Task[Any]:
    """The task of a configuration, by the kind of its target and the presence of a source."""
    kind = config.target.kind
    chosen = WITHOUT_SOURCE.get(kind, kind) if config.source.kind == "none" else kind
    return TASKS.parts[chosen]


def explain_output(
    model: Predictor, cell: Cell, output: Output | str | None = None
) -> ExplainedOutput:
    """Explain an input with the model's output for it, or with the given one."""
    return task_of(model.config).explain(model, cell, output)


def task_of_options(request: TrainingRequest) -> Task[Any]:
    """The requested task; ConfigError for impossible options, before any data is read."""
    config = request.outline()
    task = task_of(config)
    task.check_columns(config)
    return task


def open_learner(directory: RunDirectory) -> Learner:
    """The learner of a run, at its newest valid checkpoint."""
    config = load_config(directory)
    source, target = load_fields(directory, config)
    network = new_network(config, source, target)
    corpus = Corpus.open(directory.cache_directory / "train")
    learner = Learner(config, network, corpus, task_of(config).masking(config, target))
    learner.resume(directory)
    return learner


class BestNetwork(NamedTuple):
    """The network of the best step, with notes on unusable steps."""

    network: Any
    notes: tuple[str, ...]


def load_network(
    directory: RunDirectory,
    config: Config,
    fields: tuple[Field, Field],
    found: OptimizedRun | None,
    choice: EngineChoice,
) -> Predictor:
    """The model of a run by its network, with the fastest engine for it."""
    task, run = task_of(config), str(directory.path)
    if not task.decodes and not choice.is_silent:
        raise ConfigError(
            f"it gives {fields[1].describe()}, and precision and shortlists are for models that "
            "write text",
            place=run,
            remedy="leave them out",
        )
    chosen = choose_engine(found, choice, run)
    network, notes = read_best_network(directory, config, fields)
    model: Any = task.predictor(config, *fields, network, run=directory)
    if task.decodes:
        precision = chosen.precision or "float32"
        shortlist = found.shortlist() if found is not None and chosen.shortlist else None
        engine = select_engine(network, precision=precision, shortlist=shortlist)
        model = replace(model, engine=engine, copying_helps=copying_helps(directory))
    noted: Predictor = replace(model, notes=notes)
    return noted


def read_best_network(
    directory: RunDirectory, config: Config, fields: tuple[Field, Field]
) -> BestNetwork:
    """The network of the step that did best, calibrated by its held-out results."""
    chosen = choose_step(directory)
    for note in chosen.notes:
        warn_once(f"{directory.path}: {note}")
    network = read_network(chosen.step, config, *fields)
    measured = step_validation(chosen.step)
    if measured is not None:
        task_of(config).calibrate(network, measured)
    return BestNetwork(network, tuple(note.sentence for note in chosen.notes))


def read_network(step: Checkpoint, config: Config, source: Field, target: Field) -> Any:
    """The network of a step of a run, with its weights."""
    tensors = model_weights(step)
    with meta_device():
        network = build(config.model, source=source.items, target=target.items)
    check_fit(network, tensors, place=str(step.path))
    materialize(network)
    load_weights(network, tensors, place=str(step.path))
    return network.eval()
