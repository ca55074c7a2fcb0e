"""Prepare training: configuration, fields, encoded rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from seqloom.config import Config, dump
from seqloom.data import (
    Columns,
    Corpus,
    CorpusPlan,
    Data,
    Recasing,
    Report,
    Row,
    Split,
    TailSplit,
    build_corpora,
    corpus_names,
    describe_data,
    fingerprint,
    identify_data,
    read_rows,
)
from seqloom.errors import DataError
from seqloom.fields import Field
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import load_fields
from seqloom.runs.loss_checks import check_ctc_lengths
from seqloom.runs.pretrained import Pretrained, open_embeddings, open_front_end
from seqloom.runs.progress import TrainingObserver, phase
from seqloom.runs.request import ConfigCheck, RunDraft, TrainingRequest, draft_rows
from seqloom.runs.resume import ResumedConfig, check_same_data, resume_config
from seqloom.runs.teaching import teacher_fields
from seqloom.runs.vocabulary import FieldCache, learn_fields
from seqloom.store import RunDirectory
from seqloom.store.durable import remove_tree, run_errors
from seqloom.surveys import Survey, hold_out, survey

__all__ = ["PreparedData", "identify_files", "prepare_rows", "save_fields"]


SPLIT_SIDES: tuple[Literal["train"], Literal["valid"]] = ("train", "valid")


@dataclass(frozen=True)
class PreparedData:
    """Everything that training reads."""

    config: Config
    source: Field
    target: Field
    train: Corpus
    valid: Corpus
    notes: tuple[str, ...]
    base: Pretrained | None = None  # initial weights, if there is no step yet
    files: Mapping[str, Any] = field(default_factory=dict)  # of a new run, in the form of progress
    read_held_out: Callable[[], Iterable[Row]] = tuple  # the raw validation rows


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
    train, valid = parts.corpora(directory, marks, reports, watch)
    for number in train.lost:
        watch.on_warning(
            f"no row of {corpus_names(request.data)[number]} is left to learn from; the other "
            "corpora are mixed in their shares without it"
        )
    if config.model.ctc or config.model.decoder.is_ctc:
        for corpus in (train, valid):
            check_ctc_lengths(config, corpus)
    counts = dict.fromkeys(tuple(each.lines()) for each in reports if each.has_changes)
    notes = [line for lines in counts for line in lines]  # once if both sides are one file
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


@dataclass(frozen=True)
class _RowSplits:
    """The training rows and the validation rows, wherever each comes from."""

    request: TrainingRequest
    columns: Columns
    seed: int
    survey: Survey | None  # of a new run
    recasing: Recasing | None

    def mark(self, side: Literal["train", "valid"]) -> str:
        """The fingerprint of one side."""
        data, columns = self._side(side)
        return fingerprint(data, columns, side, self.seed, self.request.valid is None)

    def corpora(
        self,
        directory: RunDirectory,
        marks: tuple[str, str],
        reports: tuple[Report, Report],
        watch: TrainingObserver,
    ) -> list[Corpus]:
        """The encoded corpora of both sides: each is reused if its fingerprint matches, otherwise
        built, in one pass if both come from the same data.
        """
        places = [directory.cache_directory / side for side in SPLIT_SIDES]
        found = [
            Corpus.reuse(place, mark, watch.on_message)
            for place, mark in zip(places, marks, strict=True)
        ]
        missing = [number for number, corpus in enumerate(found) if corpus is None]
        together = self.request.valid is None and len(missing) > 1
        for numbers in [missing] if together else [[number] for number in missing]:
            plans = [self._plan(n, places[n], marks[n], reports[n]) for n in numbers]
            built = self._build(numbers, plans, watch)
            for number, corpus in zip(numbers, built, strict=True):
                found[number] = corpus
        return [corpus for corpus in found if corpus is not None]

    def _plan(self, number: int, place: Path, mark: str, report: Report) -> CorpusPlan:
        _, columns = self._side(SPLIT_SIDES[number])
        if not number:
            columns = replace(columns, recasing=self.recasing)
        return CorpusPlan(place, columns, mark, report=report, is_mixed=not number)

    def _build(
        self, numbers: list[int], plans: list[CorpusPlan], watch: TrainingObserver
    ) -> list[Corpus]:
        data, _ = self._side(SPLIT_SIDES[numbers[0]])
        split = self._split(data) if self.request.valid is None else None
        if split is not None:
            for number, plan in zip(numbers, plans, strict=True):
                plan.choose = split.valid_mask if number else split.train_mask
        in_order = isinstance(split, TailSplit)
        with phase(watch, f"encoding the {('training', 'held-out')[numbers[0]]} rows") as tell:
            checksums = partial(watch.on_progress, "computing checksums")
            return build_corpora(
                data, plans, tell=tell, tell_checksums=checksums, in_order=in_order
            )

    def read_held_out(self) -> Iterable[Row]:
        """The raw validation rows."""
        data, columns = self._side("valid")
        return self._rows("valid", read_rows(data, columns.config, Report()), data)

    def _side(self, side: Literal["train", "valid"]) -> tuple[Data, Columns]:
        """The data of a side, and how it is encoded."""
        if side == "train" or self.request.valid is None:
            return self.request.data, self.columns
        unweighed = self.columns.config.model_copy(update={"weight": ""})
        return self.request.valid, replace(self.columns, config=unweighed, held_out=True)

    def _rows(self, side: str, rows: Iterable[Row], data: Data) -> Iterable[Row]:
        if self.request.valid is not None:
            return rows
        split = self._split(data)
        return split.train(rows) if side == "train" else split.valid(rows)

    def _split(self, data: Data) -> Split | TailSplit:
        """The split of the data; DataError if none is possible."""
        config = self.columns.config
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
        return split


def _new_fields(
    config: Config, request: TrainingRequest, found: Survey, watch: TrainingObserver
) -> tuple[Config, tuple[Field, Field]]:
    """The fields, new or of the base run, and the configuration adapted to them."""
    base = request.base
    if base is None and config.training.teaching.runs:
        fields = teacher_fields(config.training.teaching)
        sizes = {"source": fields[0].config, "target": fields[1].config}
        return config.model_copy(update=sizes), fields
    if base is None:
        kept = FieldCache.of(request.cache, config, request.data)
        with phase(watch, "learning the vocabulary") as tell:
            return config, learn_fields(config, request.data, found, tell=tell, kept=kept)
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
    """Write the fields of a new run, replacing those of an earlier attempt."""
    folder = directory.fields_directory
    with run_errors(folder):
        remove_tree(folder)
    source.save(folder / "source")
    if target is not source.as_target:
        target.save(folder / "target")
