"""From raw data to what training needs: configuration, fields, encoded rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal

from seqloom.config import Config, dump
from seqloom.data import (
    Columns,
    Corpus,
    Data,
    Recasing,
    Report,
    Row,
    Survey,
    describe_data,
    fingerprint,
    hold_out,
    identify_data,
    read_rows,
    survey,
)
from seqloom.errors import DataError
from seqloom.fields import Field, learn_field, learn_target, needs_all_cells
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import load_fields
from seqloom.runs.ctc_checks import check_ctc_lengths
from seqloom.runs.pretrained import Pretrained, open_embeddings, open_front_end
from seqloom.runs.progress import TrainingObserver
from seqloom.runs.request import ConfigCheck, RunDraft, TrainingRequest, draft_rows
from seqloom.runs.resume import ResumedConfig, check_same_data, resume_config
from seqloom.store import RunDirectory
from seqloom.store.durable import remove_tree, run_errors

__all__ = ["PreparedData", "identify_files", "learn_fields", "prepare_rows", "save_fields"]


@dataclass(frozen=True)
class PreparedData:
    """Everything that training reads."""

    config: Config
    source: Field
    target: Field
    train: Corpus
    valid: Corpus
    notes: tuple[str, ...]
    base: Pretrained | None = None  # what to begin from, where there is no step yet
    files: Mapping[str, Any] = field(default_factory=dict)  # of a new run, as progress has them
    read_held_out: Callable[[], Iterable[Row]] = tuple  # the held-out rows as they are written


def prepare_rows(
    directory: RunDirectory,
    request: TrainingRequest,
    watch: TrainingObserver,
    *,
    draft: RunDraft[Survey] | None,
    check: ConfigCheck,
) -> PreparedData:
    """Create or load a run's configuration, fields and encoded rows.

    A new run uses `draft` if it is given.
    """
    found: Survey | None = None
    base: Pretrained | None = None
    resumed: ResumedConfig | None = None
    latest = directory.latest_checkpoint() if directory.exists else None
    if latest is None:
        draft = draft or draft_rows(request, watch, check=check)
        found = draft.content
        config, fields = _new_fields(draft.config, request, found, watch)
        base = request.base or _open_pretrained_parts(config, fields)
        source, target = fields
        save_fields(directory, source, target)
        directory.create(dump(config))
    else:
        resumed = resume_config(directory, request, check=check)
        config = resumed.config
        source, target = load_fields(directory, config)
    columns = Columns(source, target, config.data)
    recasing = Recasing.from_config(config) if config.data.recased else None
    parts = _RowSplits(request, columns, config.seed, found, recasing)
    marks = parts.mark("train"), parts.mark("valid")
    if resumed is not None:
        check_same_data(directory, request, marks)
        resumed.record(directory, watch)
    reports = Report(), Report()
    train = parts.corpus(directory, "train", reports[0], watch, mark=marks[0])
    valid = parts.corpus(directory, "valid", reports[1], watch, mark=marks[1])
    if config.model.ctc or config.model.decoder.is_ctc:
        for corpus in (train, valid):
            check_ctc_lengths(config, corpus)
    notes = [line for report in reports if report.has_changes for line in report.lines()]
    notes += [line for report in reports if (line := report.unseen_line())]
    files = identify_files(request) if latest is None else {}
    prepared = PreparedData(config, source, target, train, valid, tuple(notes), base, files)
    return replace(prepared, read_held_out=parts.read_held_out)


def _open_pretrained_parts(config: Config, fields: tuple[Field, Field]) -> Pretrained | None:
    """Pretrained token vectors or a front end, if the configuration names any."""
    model = config.model
    if model.front.kind == "none" and not (model.source_vectors or model.target_vectors):
        return None
    return open_embeddings(config, fields, open_front_end(model.front))


def identify_files(request: TrainingRequest) -> dict[str, Any]:
    """Identify the data files of a new run, so that resuming can check them."""
    sides = {"train": request.data, "valid": request.valid}
    return {side: identify_data(data).as_dict() for side, data in sides.items() if data is not None}


def learn_fields(config: Config, data: Data, found: Survey) -> tuple[Field, Field]:
    """Learn the fields from surveyed data; with a shared vocabulary both are views of one.

    Labels and tags are collected from all rows; everything else is learnt from the sample.
    """
    sources, targets = _cells(0, config, data, found), _cells(1, config, data, found)
    if config.model.share_vocabulary:
        shared = learn_field(config.target, chain(sources, targets), seed=config.seed)
        return shared, shared.as_target
    source = learn_field(config.source, sources, seed=config.seed)
    return source, learn_target(config.target, targets, source=source, seed=config.seed)


def _cells(side: Literal[0, 1], config: Config, data: Data, found: Survey) -> Iterable[str]:
    """The cells that a column is learnt from; unusable rows are skipped, since the survey has
    reported them."""
    column = (config.source, config.target)[side]
    if not needs_all_cells(column.kind) or len(found.sample) == found.facts.rows:
        rows = list(found.sample)
        if config.data.recased and column.is_cut_by_case:
            rows += Recasing.from_config(config).copies(found.sample)
        return [row[side] for row in rows]
    lenient = config.data.model_copy(update={"skip_bad": True})
    return (row[side] for row in read_rows(data, lenient, Report()))


@dataclass(frozen=True)
class _RowSplits:
    """The rows to learn from and the rows held out, wherever each comes from."""

    request: TrainingRequest
    columns: Columns
    seed: int
    survey: Survey | None  # of a new run
    recasing: Recasing | None

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
        """The encoded corpus of one side: reused if its fingerprint is `mark`, otherwise built."""
        place, (data, columns) = directory.cache_directory / side, self._side(side)
        corpus = Corpus.reuse(place, mark, watch.on_message)
        if corpus is not None:
            return corpus
        watch.on_message(f"encoding the {'training' if side == 'train' else 'held-out'} rows")
        if side == "train":
            columns = replace(columns, recasing=self.recasing)
        rows = self._rows(side, read_rows(data, columns.config, report), data)
        return Corpus.build(rows, columns, directory=place, report=report, fingerprint=mark)

    def read_held_out(self) -> Iterable[Row]:
        """The held-out rows as they are written."""
        data, columns = self._side("valid")
        return self._rows("valid", read_rows(data, columns.config, Report()), data)

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


def _new_fields(
    config: Config, request: TrainingRequest, found: Survey, watch: TrainingObserver
) -> tuple[Config, tuple[Field, Field]]:
    """The fields, new or those of the base run, and the configuration that fits them."""
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
