"""From raw data to what training needs: configuration, fields, encoded rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from seqloom.config import Config, check_names, dump, flatten, merge, parse, plan, validate
from seqloom.data import (
    Columns,
    Corpus,
    Data,
    Report,
    Row,
    Survey,
    describe_data,
    fingerprint,
    hold_out,
    read_rows,
    survey,
)
from seqloom.errors import ConfigError, DataError
from seqloom.fields import TextField
from seqloom.run.watch import Watch
from seqloom.store import RunDirectory

__all__ = ["Prepared", "Request", "load_config", "load_fields", "prepare"]


@dataclass(frozen=True)
class Prepared:
    """Everything that training reads."""

    config: Config
    source: TextField
    target: TextField
    train: Corpus
    valid: Corpus
    notes: tuple[str, ...]

    def held_out_texts(self, count: int) -> tuple[list[str], list[str]]:
        """The first held-out sources and references, as the fields give them back."""
        batch = self.valid.batch(np.arange(min(count, len(self.valid))))
        return (
            [self.source.decode(row) for row in batch.source.tolist()],
            [self.target.decode(row) for row in batch.target.tolist()],
        )


@dataclass(frozen=True)
class Request:
    """What a user asks for: data, held-out data, a preset, and options of their own."""

    data: Data
    valid: Data | None = None
    preset: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def begun(self) -> Config:
        """The part of the configuration that is needed to read the data for the first time."""
        check_names(self.options, place="options")
        early = {name: self.options[name] for name in ("data", "seed") if name in self.options}
        return validate(early, place="options")

    def survey(self) -> Survey:
        """One look at the training data."""
        return survey(self.data, self.begun.data, seed=self.begun.seed)


def prepare(directory: RunDirectory, request: Request, watch: Watch) -> Prepared:
    """Make or find a run's configuration and fields, and its data in encoded form."""
    found: Survey | None = None
    if directory.exists:
        config = _same_config(directory, request.options)
        source, target = load_fields(directory, config)
    else:
        watch.says("reading the data")
        found = request.survey()
        config = plan(request.options, found.facts, preset=request.preset)
        watch.says("learning the vocabulary")
        source, target = _learn_fields(directory, config, found)
        directory.create(dump(config))
    columns = Columns(source, target, config.data)
    parts = _Parts(request, columns, config.seed, found)
    report = Report()
    train = parts.corpus(directory, "train", report, watch)
    held_out = parts.corpus(directory, "valid", Report(), watch)
    notes = tuple(report.lines()) if report.lost else ()
    return Prepared(config, source, target, train, held_out, notes)


def load_config(directory: RunDirectory) -> Config:
    """The configuration of an existing run."""
    place = f"{directory.path / 'config.toml'}"
    return validate(parse(directory.config_text(), place=place), place=place)


def load_fields(directory: RunDirectory, config: Config) -> tuple[TextField, TextField]:
    """The fields of an existing run; one object where they share a vocabulary."""
    source = TextField.load(directory.fields_directory / "source")
    if config.model.share_vocabulary:
        return source, source
    return source, TextField.load(directory.fields_directory / "target")


@dataclass(frozen=True)
class _Parts:
    """The rows to learn from and the rows held out, wherever each comes from."""

    request: Request
    columns: Columns
    seed: int
    survey: Survey | None  # where one was made in this sitting

    def corpus(
        self, directory: RunDirectory, side: Literal["train", "valid"], report: Report, watch: Watch
    ) -> Corpus:
        """One side in encoded form: what an earlier sitting left, or made now."""
        place, request = directory.cache_directory / side, self.request
        data = request.data if side == "train" or request.valid is None else request.valid
        mark = fingerprint(data, self.columns, side, self.seed, request.valid is None)
        corpus = Corpus.reuse(place, mark)
        if corpus is not None:
            return corpus
        if place.exists() and directory.latest() is not None:
            raise DataError(
                f"{describe_data(data)}: not the data that {directory.path} was trained on so far; "
                "choose another --run, or bring the old data back"
            )
        watch.says(f"encoding the {'training' if side == 'train' else 'held-out'} rows")
        rows = self._rows(side, data, report)
        return Corpus.build(rows, self.columns, directory=place, report=report, fingerprint=mark)

    def _rows(self, side: str, data: Data, report: Report) -> Iterable[Row]:
        config = self.columns.config
        rows = read_rows(data, config, report)
        if self.request.valid is not None:
            return rows
        found = self.survey or self.request.survey()
        split = hold_out(found, config, seed=self.seed)
        if not split.held_out:
            raise DataError(
                f"{describe_data(data)}: nothing can be held out; give at least two different "
                "sources and a data.valid_share above 0, or held-out data with --valid"
            )
        return split.train(rows) if side == "train" else split.valid(rows)


def _learn_fields(
    directory: RunDirectory, config: Config, found: Survey
) -> tuple[TextField, TextField]:
    sources, targets = ([row[side] for row in found.sample] for side in (0, 1))
    folder = directory.fields_directory
    if config.model.share_vocabulary:
        if config.source != config.target:
            raise ConfigError(
                "model.share_vocabulary needs source and target to be cut alike: "
                "give both the same options, or set model.share_vocabulary=false"
            )
        field = TextField.learn(config.source, [*sources, *targets], seed=config.seed)
        field.save(folder / "source")
        return field, field
    source = TextField.learn(config.source, sources, seed=config.seed)
    target = TextField.learn(config.target, targets, seed=config.seed)
    source.save(folder / "source")
    target.save(folder / "target")
    return source, target


def _same_config(directory: RunDirectory, options: Mapping[str, Any]) -> Config:
    """The run's configuration; an option that says otherwise is an error, not a surprise."""
    config = load_config(directory)
    asked = validate(merge(config.model_dump(mode="json"), options), place="options")
    for name, value in flatten(asked).items():
        if flatten(config).get(name) != value:
            raise ConfigError(
                f"{directory.path} was begun with {name} = {flatten(config).get(name)!r}: leave "
                f"{name} = {value!r} out to go on, or choose another --run"
            )
    return config
