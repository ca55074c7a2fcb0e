"""From a table over time to what training needs: columns, scale, windows (SPEC S1.2)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from seqloom.config import Config, Facts, HorizonConfig, WindowConfig, dump, merge, plan
from seqloom.data import (
    Columns,
    Corpus,
    Data,
    Report,
    SeriesColumns,
    SeriesTable,
    Shape,
    Windows,
    describe_data,
    fingerprint,
    parts,
    read_series,
    window_corpus,
    windows,
)
from seqloom.errors import ConfigError, DataError
from seqloom.fields import Past, SeriesField
from seqloom.metrics import find_season, ridge
from seqloom.runs.contents import load_config, load_fields
from seqloom.runs.observer import Watch
from seqloom.runs.prepare import ANY_SIDE, Prepared, Request, continued, same_data, save_fields
from seqloom.store import RunDirectory

__all__ = ["check_series", "is_series", "prepare_series", "series_fields"]

Fields = tuple[SeriesField, SeriesField]


def is_series(directory: RunDirectory | None, request: Request) -> bool:
    """Whether a request is for a forecast: by its options, or by those of the run that goes on."""
    if directory is not None and directory.exists and directory.latest() is not None:
        return isinstance(load_config(directory).target, HorizonConfig)
    return isinstance(request.checked().target, HorizonConfig)


def prepare_series(directory: RunDirectory, request: Request, watch: Watch) -> Prepared:
    """Make or find a run's configuration, columns and scale, and its windows in encoded form."""
    latest = directory.latest() if directory.exists else None
    reports = Report(), Report()
    watch.says("reading the series")
    if latest is None:
        config, table = _first_look(request, reports[0])
        config, fields = _new_fields(config, request, table)
        save_fields(directory, *fields)
        directory.create(dump(config))
    else:
        config = continued(directory, request, watch)
        fields = series_pair(*load_fields(directory, config))
        table = _read(request.data, config, reports[0], fields)
    sides = _Sides(directory, request, config, fields)
    train = sides.corpus("train", table)
    valid = sides.corpus("valid", sides.held_out(table, reports[1]))
    same_data(directory, request, train, valid)
    notes = [line for report in reports if report.lost for line in report.lines()]
    base = None if latest else request.base
    return Prepared(config, *fields, train, valid, tuple(notes), base)


def check_series(request: Request) -> Iterator[str]:
    """What is in a series and what training would make of it, as lines of text."""
    lenient = replace(request, options=merge(request.options, {"data": {"skip_bad": True}}))
    report = Report()
    config, table = _first_look(lenient, report)
    yield from report.lines()
    columns = table.columns
    yield f"times: {table.time_name}, every {table.clock.span(table.clock.step)}"
    yield f"forecast: {', '.join(columns.targets)}"
    if columns.others:
        yield f"also read: {', '.join(columns.others)}"
    if columns.known:
        yield f"known ahead: {', '.join(columns.known)}"
    source, target = series_fields(table, config, _learnt(table, config, request))
    for name, mean, spread in zip(source.names, source.mean, source.spread, strict=True):
        yield f"  {name}: mean {mean:.4g}, standard deviation {spread:.4g}"
    season = target.past.repeated if target.past else 1
    yield f"season: {season:,} steps" if season > 1 else "season: none found"
    for name, rows in zip(("training", "held-out", "test"), parts(table, config.data), strict=True):
        chosen = windows(table, _shape(config), rows) if rows else None
        count = 0 if chosen is None else len(chosen.starts)
        yield f"{name} windows: {count:,} of {len(rows):,} rows"
    yield (
        f"model: {config.model.encoder.kind} encoder, {config.model.decoder.kind} decoder; "
        f"{config.training.updates:,} updates of {config.training.batch_rows:,} windows"
    )
    if report.lost and not request.checked().data.skip_bad:
        raise DataError(
            f"{describe_data(request.data)}: {report.lost:,} rows cannot be used; mend them, or "
            "pass --skip-bad to leave out the windows that touch them"
        )


def series_fields(table: SeriesTable, config: Config, learnt: range) -> Fields:
    """Source and target with the scale of the rows to learn from, and simple forecasts."""
    if not isinstance(config.source, WindowConfig) or not isinstance(config.target, HorizonConfig):
        raise ConfigError("a series is forecast from series: set source.kind and target.kind")
    shape, columns = _shape(config), table.columns
    whole = np.where(table.usable[:, None], table.values, np.nan)[learnt.start : learnt.stop]
    if not np.isfinite(whole).any():
        raise DataError(f"{table.file}: no row is left to learn from; mend it")
    source = SeriesField.of_rows(config.source, columns.all, whole)
    target = SeriesField.of_rows(config.target, columns.targets, whole[:, : len(columns.targets)])
    scaled = np.asarray(target.scaled(whole[:, : len(columns.targets)]), np.float64)
    if len(scaled) < sum(shape):
        raise _too_short(table, len(scaled), shape)
    season = config.target.season or find_season(scaled, shape.window)
    past = Past(season, ridge(scaled, *shape))
    return source, SeriesField(config.target, target.names, (target.mean, target.spread), past)


def series_pair(source: object, target: object) -> Fields:
    """Two fields that must be series."""
    if not isinstance(source, SeriesField) or not isinstance(target, SeriesField):
        raise TypeError("a forecast has series on both sides")
    return source, target


def _new_fields(config: Config, request: Request, table: SeriesTable) -> tuple[Config, Fields]:
    """New fields, or those of the run that is begun from; the configuration that goes with them."""
    if request.base is None:
        return config, series_fields(table, config, _learnt(table, config, request))
    return request.base.settled(config, request.options), series_pair(*request.base.fields)


def _learnt(table: SeriesTable, config: Config, request: Request) -> range:
    """The rows to learn from: all of them where others are held out."""
    return range(len(table)) if request.valid is not None else parts(table, config.data)[0]


def _first_look(request: Request, report: Report) -> tuple[Config, SeriesTable]:
    """The table, and the configuration that follows from its size."""
    likely = request.checked()
    if not isinstance(likely.source, WindowConfig):
        raise ConfigError("a series is forecast from series: leave source.kind out")
    columns: SeriesColumns | WindowConfig = likely.source
    if request.base is not None:
        columns = SeriesColumns.of(*series_pair(*request.base.fields))
    if likely.data.weight:
        raise ConfigError("--weight weighs rows of pairs, and a series has none: leave it out")
    table = read_series(request.data, likely.data, columns, report)
    return plan(
        request.options, Facts(len(table), ANY_SIDE, ANY_SIDE), preset=request.preset
    ), table


def _shape(config: Config) -> Shape:
    if not isinstance(config.source, WindowConfig) or not isinstance(config.target, HorizonConfig):
        raise ConfigError("a series is forecast from series: set source.kind and target.kind")
    return Shape(config.source.window, config.target.horizon)


def _read(data: Data, config: Config, report: Report, fields: Fields) -> SeriesTable:
    """A table with the columns of a run."""
    return read_series(data, config.data, SeriesColumns.of(*fields), report)


@dataclass(frozen=True)
class _Sides:
    """The windows to learn from and the windows held out, wherever each comes from."""

    directory: RunDirectory
    request: Request
    config: Config
    fields: Fields

    def held_out(self, table: SeriesTable, report: Report) -> SeriesTable:
        """The table of the held-out windows: the training table, or one of its own."""
        if self.request.valid is None:
            return table
        return _read(self.request.valid, self.config, report, self.fields)

    def corpus(self, side: Literal["train", "valid"], table: SeriesTable) -> Corpus:
        """One side in encoded form: what an earlier sitting left, or made now."""
        request, place = self.request, self.directory.cache_directory / side
        data = request.data if side == "train" or request.valid is None else request.valid
        columns = Columns(*self.fields, self.config.data)
        mark = fingerprint(data, columns, side, self.config.seed, request.valid is None)
        corpus = Corpus.reuse(place, mark)
        if corpus is not None:
            return corpus
        chosen = self._windows(side, table)
        return window_corpus(table, chosen, self.fields, directory=place, fingerprint=mark)

    def _windows(self, side: Literal["train", "valid"], table: SeriesTable) -> Windows:
        shape = _shape(self.config)
        if side == "train" or self.request.valid is not None:
            rows = _learnt(table, self.config, self.request)
        else:
            rows = parts(table, self.config.data)[1]
        chosen = windows(table, shape, rows)
        if not len(chosen.starts):
            raise _too_short(table, len(rows), shape)
        return chosen


def _too_short(table: SeriesTable, rows: int, shape: Shape) -> DataError:
    return DataError(
        f"{table.file}: {rows:,} rows hold no whole window of {shape.window:,} steps and forecast "
        f"of {shape.horizon:,}; give more rows, lower source.window or target.horizon, or set "
        "data.valid_share"
    )
