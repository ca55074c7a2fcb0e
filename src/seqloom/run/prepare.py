"""From raw data to what training needs: configuration, fields, encoded rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from seqloom.config import (
    Config,
    Facts,
    Side,
    check_names,
    dump,
    flatten,
    merge,
    parse,
    plan,
    validate,
)
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
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.fields import TextField
from seqloom.model import build
from seqloom.run.progress import Progress
from seqloom.run.watch import Watch
from seqloom.store import RunDirectory
from seqloom.store.durable import remove_tree, run_errors

__all__ = ["Prepared", "Request", "learn_fields", "load_config", "load_fields", "prepare"]

CHANGEABLE = ("training.", "search.")  # what may differ when a run goes on
_ANY = Side(50.0, 10.0, 9.0, 50, 10_000, 1_000)


@dataclass(frozen=True)
class Prepared:
    """Everything that training reads."""

    config: Config
    source: TextField
    target: TextField
    train: Corpus
    valid: Corpus
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """What a user asks for: data, held-out data, a preset, and options of their own."""

    data: Data
    valid: Data | None = None
    preset: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)

    def checked(self) -> Config:
        """What can be said of the configuration without data; ConfigError where it cannot be."""
        check_names(self.options, place="options")
        likely = plan(self.options, Facts(1_000, _ANY, _ANY), preset=self.preset)
        with torch.device("meta"):
            build(likely.model, source_size=8, target_size=8)
        return likely

    def survey(self) -> Survey:
        """One look at the data, with the options checked before."""
        likely = self.checked()
        return survey(self.data, likely.data, seed=likely.seed)


def prepare(directory: RunDirectory, request: Request, watch: Watch) -> Prepared:
    """Make or find a run's configuration and fields, and its data in encoded form."""
    found: Survey | None = None
    latest = directory.latest() if directory.exists else None
    if latest is None:
        watch.says("reading the data")
        found = request.survey()
        config = plan(request.options, found.facts, preset=request.preset)
        watch.says("learning the vocabulary")
        source, target = _new_fields(directory, config, found)
        directory.create(dump(config))
    else:
        config = _continued(directory, request, watch)
        source, target = load_fields(directory, config)
    parts = _Parts(request, Columns(source, target, config.data), config.seed, found)
    reports = Report(), Report()
    train = parts.corpus(directory, "train", reports[0], watch)
    valid = parts.corpus(directory, "valid", reports[1], watch)
    if latest and Progress.from_dict(latest.progress()).data != train.fingerprint:
        raise DataError(
            f"{describe_data(request.data)}: not the data that {directory.path} was trained on so "
            "far; choose another --run, or bring the old data back"
        )
    notes = [line for report in reports if report.lost for line in report.lines()]
    return Prepared(config, source, target, train, valid, tuple(notes))


def load_config(directory: RunDirectory) -> Config:
    """The configuration of an existing run."""
    place = f"{directory.path / 'config.toml'}"
    try:
        return validate(parse(directory.config_text(), place=place), place=place)
    except ConfigError as error:
        raise RunError(str(error)) from None


def load_fields(directory: RunDirectory, config: Config) -> tuple[TextField, TextField]:
    """The fields of an existing run; one object where they share a vocabulary."""
    source = TextField.load(directory.fields_directory / "source")
    if config.model.share_vocabulary:
        return source, source
    return source, TextField.load(directory.fields_directory / "target")


def learn_fields(config: Config, found: Survey) -> tuple[TextField, TextField]:
    """New fields from the sampled rows; one object where they share a vocabulary."""
    sources, targets = ([row[side] for row in found.sample] for side in (0, 1))
    if config.model.share_vocabulary:
        shared = TextField.learn(config.source, [*sources, *targets], seed=config.seed)
        return shared, shared
    source = TextField.learn(config.source, sources, seed=config.seed)
    return source, TextField.learn(config.target, targets, seed=config.seed)


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
        watch.says(f"encoding the {'training' if side == 'train' else 'held-out'} rows")
        rows = self._rows(side, data, report)
        return Corpus.build(rows, self.columns, directory=place, report=report, fingerprint=mark)

    def _rows(self, side: str, data: Data, report: Report) -> Iterable[Row]:
        config = self.columns.config
        rows = read_rows(data, config, report)
        if self.request.valid is not None:
            return rows
        found = self.survey or survey(data, config, seed=self.seed)
        split = hold_out(found, config, seed=self.seed)
        if not split.held_out:
            raise DataError(
                f"{describe_data(data)}: nothing can be held out; give at least two different "
                "sources and a data.valid_share above 0, or held-out data with --valid"
            )
        return split.train(rows) if side == "train" else split.valid(rows)


def _new_fields(
    directory: RunDirectory, config: Config, found: Survey
) -> tuple[TextField, TextField]:
    source, target = learn_fields(config, found)
    folder = directory.fields_directory
    with run_errors(folder):
        remove_tree(folder)
    source.save(folder / "source")
    if target is not source:
        target.save(folder / "target")
    return source, target


def _continued(directory: RunDirectory, request: Request, watch: Watch) -> Config:
    """The run's configuration with what may change changed; anything else is an error."""
    config = load_config(directory)
    check_names(request.options, place="options")
    asked = validate(merge(config.model_dump(mode="json"), request.options), place="options")
    kind = {"lstm": "recurrent"}.get(request.preset, request.preset)
    if kind not in ("auto", config.model.encoder.kind):
        raise ConfigError(
            f"{directory.path} holds a {config.model.encoder.kind} model: leave --model "
            f"{request.preset} out to go on, or choose another --run"
        )
    before, after = flatten(config), flatten(asked)
    changed = [name for name, value in after.items() if before.get(name) != value]
    for name in changed:
        if not name.startswith(CHANGEABLE):
            raise ConfigError(
                f"{directory.path} was begun with {name} = {before.get(name)!r}: leave "
                f"{name} = {after[name]!r} out to go on, or choose another --run"
            )
        watch.says(f"from here on {name} = {after[name]!r} in place of {before.get(name)!r}")
    if changed:
        directory.create(dump(asked))
    return asked
