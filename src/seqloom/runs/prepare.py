"""From raw data to what training needs: configuration, fields, encoded rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Generic, Literal, TypeVar

from seqloom.config import (
    Config,
    check_names,
    dump,
    flatten,
    leaves,
    merge,
    preset_kinds,
    validate,
)
from seqloom.data import (
    Columns,
    Corpus,
    Data,
    DataIdentity,
    Recasing,
    Report,
    Row,
    Survey,
    compare_data,
    describe_data,
    fingerprint,
    hold_out,
    identify_data,
    read_rows,
    survey,
)
from seqloom.errors import ConfigError, DataError
from seqloom.fields import (
    Field,
    learn_field,
    learn_target,
    needs_all_cells,
    placeholder_items,
)
from seqloom.model import build
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import load_config, load_fields
from seqloom.runs.ctc_checks import check_ctc_config, check_ctc_lengths
from seqloom.runs.pretrained import (
    PretrainedEmbeddings,
    PretrainedFrontEnd,
    PretrainedRun,
    freeze_pretrained,
    open_embeddings,
    open_front_end,
)
from seqloom.runs.process import check_device
from seqloom.runs.progress import Progress, TrainingObserver
from seqloom.runs.request import TrainingRequest
from seqloom.runs.tensorboard import check_tensorboard
from seqloom.runs.weights import meta_device
from seqloom.store import RunDirectory
from seqloom.store.durable import remove_tree, run_errors
from seqloom.training import check_forcing, check_precision, freeze

__all__ = [
    "ConfigCheck",
    "PreparedData",
    "ResumedConfig",
    "RunDraft",
    "check_network",
    "check_same_data",
    "draft_rows",
    "identify_files",
    "learn_fields",
    "prepare_rows",
    "resume_config",
    "save_fields",
]

CHANGEABLE = ("training.", "search.")  # what may differ when a run goes on, ...
FIXED = ("training.extend_vocabulary",)  # ... and of that, what is settled at its beginning
ConfigCheck = Callable[[Config], None]
"""Raises ConfigError where a run cannot be trained as configured."""

Content = TypeVar("Content")


@dataclass(frozen=True)
class PreparedData:
    """Everything that training reads."""

    config: Config
    source: Field
    target: Field
    train: Corpus
    valid: Corpus
    notes: tuple[str, ...]
    base: PretrainedRun | PretrainedFrontEnd | PretrainedEmbeddings | None = (
        None  # what to begin from, where there is no step yet
    )
    files: Mapping[str, Any] = field(default_factory=dict)  # of a new run, as progress has them


@dataclass(frozen=True)
class RunDraft(Generic[Content]):
    """A new run before anything of it is written: its configuration, and the data it follows."""

    config: Config
    content: Content


def draft_rows(
    request: TrainingRequest, watch: TrainingObserver, *, check: ConfigCheck
) -> RunDraft[Survey]:
    """Survey the rows and plan the run; `check` raises ConfigError where it cannot be trained."""
    watch.on_message("reading the data")
    found = request.survey()
    config = request.plan(found.facts)
    check(config)
    return RunDraft(config, found)


def prepare_rows(
    directory: RunDirectory,
    request: TrainingRequest,
    watch: TrainingObserver,
    *,
    draft: RunDraft[Survey] | None,
    check: ConfigCheck,
) -> PreparedData:
    """Make or find a run's configuration and fields, and its rows in encoded form.

    A new run follows its draft, where one was made before.
    """
    found: Survey | None = None
    base: PretrainedRun | PretrainedFrontEnd | PretrainedEmbeddings | None = None
    resumed: ResumedConfig | None = None
    latest = directory.latest_checkpoint() if directory.exists else None
    if latest is None:
        draft = draft or draft_rows(request, watch, check=check)
        found = draft.content
        config, fields = _new_fields(draft.config, request, found, watch)
        base = request.base or open_embeddings(config, fields, open_front_end(config.model.front))
        source, target = fields
        save_fields(directory, source, target)
        directory.create(dump(config))
    else:
        resumed = resume_config(directory, request, check=check)
        config = resumed.config
        source, target = load_fields(directory, config)
    columns = Columns(source, target, config.data)
    parts = _RowSplits(request, columns, config.seed, found, Recasing.from_config(config))
    marks = parts.mark("train"), parts.mark("valid")
    check_same_data(directory, request, marks)
    if resumed is not None:
        resumed.record(directory, watch)
    reports = Report(), Report()
    train = parts.corpus(directory, "train", reports[0], watch, mark=marks[0])
    valid = parts.corpus(directory, "valid", reports[1], watch, mark=marks[1])
    for corpus in (train, valid):
        check_ctc_lengths(config, corpus)
    notes = [line for report in reports if report.has_changes for line in report.lines()]
    notes += [line for report in reports if (line := report.unseen_line())]
    files = identify_files(request) if latest is None else {}
    return PreparedData(config, source, target, train, valid, tuple(notes), base, files)


def identify_files(request: TrainingRequest) -> dict[str, Any]:
    """What the data of a new run is, for the day on which it goes on."""
    sides = {"train": request.data, "valid": request.valid}
    return {side: identify_data(data).as_dict() for side, data in sides.items() if data is not None}


def check_same_data(
    directory: RunDirectory, request: TrainingRequest, marks: tuple[str, str]
) -> None:
    """DataError where a run that goes on would go on with other data, or would be measured on other
    held-out rows than so far, so that its results could not be compared; `marks` are the
    fingerprints of both."""
    latest = directory.latest_checkpoint()
    if latest is None:
        return
    before = Progress.from_dict(latest.progress())
    if not before.data:
        raise DataError(
            "an imported model, which is used as it is",
            place=directory.path,
            remedy=Remedy(
                "fine-tune it with {} and another {}",
                Setting("base", directory.path),
                Setting("run"),
            ),
        )
    if before.data != marks[0]:
        raise DataError(
            f"not the data that {directory.path} was trained on so "
            f"far{_change(before, 'train', request.data)}",
            place=describe_data(request.data),
            remedy=Remedy("choose another {}, or bring the old data back", Setting("run")),
        )
    if before.held_out not in ("", marks[1]):
        held_out = request.valid or request.data
        raise DataError(
            f"not the held-out rows that {directory.path} was measured on so "
            f"far{_change(before, 'valid', held_out)}",
            place=describe_data(held_out),
            remedy=Remedy(
                "bring them back, or begin another run with {}", Setting("base", directory.path)
            ),
        )


def _change(before: Progress, side: str, data: Data) -> str:
    """How data has changed, as far as the run knows what it was."""
    if side not in before.files:
        return ": they were a part of the training data" if side == "valid" and before.files else ""
    found = compare_data(data, DataIdentity.from_dict(before.files[side]))
    return f": it {found}" if found else ": the same file is read by other rules now"


def learn_fields(config: Config, data: Data, found: Survey) -> tuple[Field, Field]:
    """New fields of surveyed data; two views of one where they share a vocabulary.

    Labels and tags are those of all rows, everything else is learnt from the sampled ones.
    """
    sources, targets = _cells(0, config, data, found), _cells(1, config, data, found)
    if config.model.share_vocabulary:
        shared = learn_field(config.target, chain(sources, targets), seed=config.seed)
        return shared, shared.as_target
    source = learn_field(config.source, sources, seed=config.seed)
    return source, learn_target(config.target, targets, source=source, seed=config.seed)


def _cells(side: Literal[0, 1], config: Config, data: Data, found: Survey) -> Iterable[str]:
    """What a column is learnt from; rows that cannot be used are passed by, since the survey has
    told of them."""
    column = (config.source, config.target)[side]
    if not needs_all_cells(column.kind) or len(found.sample) == found.facts.rows:
        copies = Recasing.from_config(config).copies(found.sample) if column.is_cut_by_case else ()
        return [row[side] for row in (*found.sample, *copies)]
    lenient = config.data.model_copy(update={"skip_bad": True})
    return (row[side] for row in read_rows(data, lenient, Report()))


@dataclass(frozen=True)
class _RowSplits:
    """The rows to learn from and the rows held out, wherever each comes from."""

    request: TrainingRequest
    columns: Columns
    seed: int
    survey: Survey | None  # where one was made in this sitting
    recasing: Recasing

    def mark(self, side: Literal["train", "valid"]) -> str:
        """The fingerprint of one side."""
        data, columns = self._side(side)
        return fingerprint(data, columns, side, self.seed, self.request.valid is None)

    def corpus(
        self,
        directory: RunDirectory,
        side: Literal["train", "valid"],
        report: Report,
        watch: TrainingObserver,
        *,
        mark: str,
    ) -> Corpus:
        """One side in encoded form, with this fingerprint: what an earlier sitting left, or made
        now."""
        place, (data, columns) = directory.cache_directory / side, self._side(side)
        corpus = Corpus.reuse(place, mark, watch.on_message)
        if corpus is not None:
            return corpus
        watch.on_message(f"encoding the {'training' if side == 'train' else 'held-out'} rows")
        if side == "train":
            columns = replace(columns, recasing=self.recasing)
        rows = self._rows(side, read_rows(data, columns.config, report), data)
        return Corpus.build(rows, columns, directory=place, report=report, fingerprint=mark)

    def _side(self, side: Literal["train", "valid"]) -> tuple[Data, Columns]:
        """Where the rows of a side come from, and how they are read."""
        if side == "train" or self.request.valid is None:
            return self.request.data, self.columns
        unweighed = self.columns.config.model_copy(update={"weight": ""})
        return self.request.valid, replace(self.columns, config=unweighed, held_out=True)

    def _rows(self, side: str, rows: Iterable[Row], data: Data) -> Iterable[Row]:
        config = self.columns.config
        if self.request.valid is not None:
            return rows
        found = self.survey or survey(data, config, seed=self.seed)
        split = hold_out(found, config, seed=self.seed)
        if not split.holdout:
            raise DataError(
                "nothing can be held out",
                place=describe_data(data),
                remedy=Remedy(
                    "give at least two different sources, none of them in most of the rows, and "
                    "a data.valid_share above 0, or held-out data with {}",
                    Setting("valid"),
                ),
            )
        return split.train(rows) if side == "train" else split.valid(rows)


def check_network(config: Config) -> None:
    """ConfigError where no network can be built, learn, or be computed as configured."""
    check_ctc_config(config)
    with meta_device():
        network = build(
            config.model,
            source=placeholder_items(config.source),
            target=placeholder_items(config.target),
        )
        freeze(network, config.training.freeze)
        freeze_pretrained(network, config.model)
    check_forcing(config.training, network)
    check_precision(config.training)
    check_tensorboard(config.training)
    check_device(config.training)


def _new_fields(
    config: Config, request: TrainingRequest, found: Survey, watch: TrainingObserver
) -> tuple[Config, tuple[Field, Field]]:
    """New fields, or those of the run that is begun from; the configuration that goes with them."""
    base = request.base
    if base is None:
        watch.on_message("learning the vocabulary")
        return config, learn_fields(config, request.data, found)
    fields = base.fields
    if config.training.extend_vocabulary:
        fields = base.extend_fields(found.sample)
        added = [
            new.items.count - old.items.count for new, old in zip(fields, base.fields, strict=True)
        ]
        watch.on_message(
            f"added to the vocabulary: {added[0]} source and {added[1]} target symbols"
        )
    sizes = {"source": fields[0].config, "target": fields[1].config}
    return base.fine_tuning_config(config.model_copy(update=sizes), request.options), fields


def save_fields(directory: RunDirectory, source: Field, target: Field) -> None:
    """Write the fields of a new run, in place of any that an earlier attempt left."""
    folder = directory.fields_directory
    with run_errors(folder):
        remove_tree(folder)
    source.save(folder / "source")
    if target is not source.as_target:
        target.save(folder / "target")


@dataclass(frozen=True)
class ResumedConfig:
    """The configuration that a run goes on with, and in words what changes by it."""

    config: Config
    changes: tuple[str, ...]

    def record(self, directory: RunDirectory, watch: TrainingObserver) -> None:
        """Say what changes, and write it; to be called when every check has passed."""
        for sentence in self.changes:
            watch.on_message(sentence)
        if self.changes:
            directory.create(dump(self.config))


def resume_config(
    directory: RunDirectory, request: TrainingRequest, *, check: ConfigCheck
) -> ResumedConfig:
    """The run's configuration with what may change changed; anything else is an error.

    Nothing is written.
    """
    config = load_config(directory)
    check_names(request.options, place="options")
    asked = validate(merge(config.model_dump(mode="json"), request.options), place="options")
    before, after = flatten(config), flatten(asked)
    own = [name.removesuffix(".kind") for name, _ in leaves(request.options)]
    for name, kind in preset_kinds(request.preset, before).items():
        if before.get(name) != kind and not name.removesuffix(".kind").startswith(tuple(own)):
            raise ConfigError(
                f"was begun with {name} = {before.get(name)!r}",
                place=directory.path,
                remedy=_go_on_without(Setting("model", request.preset)),
            )
    changed = [name for name, value in after.items() if before.get(name) != value]
    for name in changed:
        if not name.startswith(CHANGEABLE) or name in FIXED:
            raise ConfigError(
                f"was begun with {name} = {before.get(name)!r}",
                place=directory.path,
                remedy=_go_on_without(Setting(name, after[name])),
            )
    check(asked)
    changes = [
        f"from here on {name} = {after[name]!r} in place of {before.get(name)!r}"
        for name in changed
    ]
    return ResumedConfig(asked, tuple(changes))


def _go_on_without(setting: Setting) -> Remedy:
    return Remedy("leave {} out to go on, or choose another {}", setting, Setting("run"))
