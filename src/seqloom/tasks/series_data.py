"""Prepare training on a time series: columns, scale, windows (S1.2)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, cast

import numpy as np

from seqloom.config import ColumnStatistics, Config, Facts, HorizonConfig, WindowConfig, dump, merge
from seqloom.data import (
    Columns,
    Corpus,
    Data,
    Report,
    SeriesColumns,
    SeriesTable,
    Windows,
    WindowShape,
    describe_data,
    find_windows,
    fingerprint,
    read_series,
    split_ranges,
    window_corpus,
)
from seqloom.errors import ConfigError, DataError
from seqloom.fields import SeriesBaseline, SeriesField
from seqloom.metrics import calendar_periods, find_season, ridge, seasonal_naive_error
from seqloom.remedies import Remedy, Setting, Wording
from seqloom.runs.contents import load_fields
from seqloom.runs.findings import Finding, count_of, few_rows, them_or_it, verdict
from seqloom.runs.prepare import PreparedData, identify_files, save_fields
from seqloom.runs.pretrained import Pretrained
from seqloom.runs.progress import TrainingObserver
from seqloom.runs.request import ConfigCheck, RunDraft, TrainingRequest
from seqloom.runs.resume import ResumedConfig, check_same_data, resume_config
from seqloom.runs.timing.estimate import SampledRows, training_estimate
from seqloom.store import RunDirectory
from seqloom.tasks.series_start import fit_linear_start

__all__ = ["ReportedTable", "check_series", "draft_series", "prepare_series", "series_fields"]

NO_TEXT = ColumnStatistics(50.0, 10.0, 9.0, 50, 10_000, 1_000)  # a series is planned by its rows

Fields = tuple[SeriesField, SeriesField]


class ReportedTable(NamedTuple):
    """A time series, and a report of its unusable rows."""

    table: SeriesTable
    report: Report


def draft_series(
    request: TrainingRequest, watch: TrainingObserver, *, check: ConfigCheck
) -> RunDraft[ReportedTable]:
    """Read the series and plan the run."""
    watch.on_message("reading the series")
    report = Report()
    config, table = _read_and_plan(request, report, check)
    return RunDraft(config, ReportedTable(table, report))


def prepare_series(
    directory: RunDirectory,
    request: TrainingRequest,
    watch: TrainingObserver,
    *,
    draft: RunDraft[ReportedTable] | None,
    check: ConfigCheck,
) -> PreparedData:
    """Create or load a run's configuration, columns and scale, and its encoded windows."""
    latest = directory.latest_checkpoint() if directory.exists else None
    reports = [Report(), Report()]
    resumed: ResumedConfig | None = None
    if latest is None:
        draft = draft or draft_series(request, watch, check=check)
        table, reports[0] = draft.content
        config, fields = _new_fields(draft.config, request, table)
        save_fields(directory, *fields)
        directory.create(dump(config))
    else:
        resumed = resume_config(directory, request, check=check)
        config = resumed.config
        fields = cast(Fields, load_fields(directory, config))
        watch.on_message("reading the series")
        table = _read(request.data, config, reports[0], fields)
    sides = _WindowSplits(directory, request, config, fields, watch)
    if resumed is not None:
        check_same_data(directory, request, (sides.mark("train"), sides.mark("valid")))
        resumed.record(directory, watch)
    train = sides.corpus("train", table)
    valid = sides.corpus("valid", sides.validation_table(table, reports[1]))
    notes = [line for report in reports if report.total_dropped for line in report.lines()]
    base: Pretrained | None = None if latest else request.base
    if latest is None and base is None and config.model.linear:
        base = fit_linear_start(train, valid, _columns(config)[1].quantiles)
    files = {} if latest else identify_files(request)
    return PreparedData(config, *fields, train, valid, tuple(notes), base, files)


def check_series(
    request: TrainingRequest, *, check: ConfigCheck, wording: Wording
) -> Iterator[str]:
    """Describe a series and the training it would lead to, as lines of text."""
    lenient = replace(request, options=merge(request.options, {"data": {"skip_bad": True}}))
    report = Report()
    config, table = _read_and_plan(lenient, report, check)
    yield from report.lines()
    columns = table.columns
    yield f"times: {table.time_name}, every {table.clock.span(table.clock.step)}"
    yield f"forecast: {', '.join(columns.targets)}"
    if columns.others:
        yield f"also read: {', '.join(columns.others)}"
    if columns.known:
        yield f"known ahead: {', '.join(columns.known)}"
    source, target = series_fields(table, config, _training_range(table, config, request))
    for name, mean, spread in zip(source.names, source.mean, source.spread, strict=True):
        yield f"  {name}: mean {mean:.4g}, standard deviation {spread:.4g}"
    season = target.past.naive_period if target.past else 1
    yield f"season: {season:,} steps" if season > 1 else "season: none found"
    windows: dict[str, int] = {}
    for name, rows in zip(
        ("training", "held-out", "test"), split_ranges(table, config.data), strict=True
    ):
        chosen = find_windows(table, _shape(config), rows) if rows else None
        count = 0 if chosen is None else len(chosen.starts)
        windows[name] = count
        yield f"{name} windows: {count:,} of {len(rows):,} rows"
    yield (
        f"model: {config.model.encoder.kind} encoder, {config.model.decoder.kind} decoder; "
        f"{config.training.updates:,} updates of {config.training.batch_rows:,} windows"
    )
    shown = SampledRows.alike(
        *_shape(config), rows=windows["training"], held_out=windows["held-out"]
    )
    yield training_estimate(config, (source, target), shown)
    lost = 0 if request.outline().data.skip_bad else report.total_dropped
    findings = [
        *_no_windows(windows, _shape(config), request),
        *few_rows(len(table), config.training.updates),
        *_no_season(season),
    ]
    yield from ("", *verdict(findings, unusable=lost, wording=wording))
    if lost:
        raise DataError(
            f"{count_of(lost, 'row')} cannot be used",
            place=describe_data(request.data),
            remedy=Remedy(
                f"mend {them_or_it(lost)}, or pass {{}} to leave out the windows that touch "
                f"{them_or_it(lost)}",
                Setting("data.skip_bad", True),
            ),
        )


def _no_windows(
    windows: Mapping[str, int], shape: WindowShape, request: TrainingRequest
) -> Iterator[Finding]:
    """A side without a window, with which no training can begin."""
    sides = ("training", "held-out") if request.valid is None else ("training",)
    for name in sides:
        if not windows[name]:
            yield Finding(
                f"there is no {name} window, which takes {sum(shape):,} rows without a gap; fill "
                "in the missing rows, give more, or lower source.window or target.horizon",
                grave=True,
            )


def _no_season(season: int) -> Iterator[Finding]:
    if season == 1:
        yield Finding(
            Remedy(
                "no season was found; write {} if the series repeats after so many steps",
                Setting("target.season", 24),
            )
        )


def series_fields(table: SeriesTable, config: Config, learnt: range) -> Fields:
    """Source and target fields, scaled by the training rows, and baseline forecasts."""
    window, horizon = _columns(config)
    shape, columns = _shape(config), table.columns
    whole = np.where(table.usable[:, None], table.values, np.nan)[learnt.start : learnt.stop]
    if not np.isfinite(whole).any():
        raise DataError("no row is left to learn from", place=table.file, remedy="mend it")
    source = SeriesField.from_rows(window, columns.all, whole)
    target = SeriesField.from_rows(horizon, columns.targets, whole[:, : len(columns.targets)])
    scaled = np.asarray(target.scale(whole[:, : len(columns.targets)]), np.float64)
    if len(scaled) < sum(shape):
        raise _too_short(table, len(scaled), shape)
    calendar = calendar_periods(table.clock.unit, table.clock.step)
    season = horizon.season or find_season(scaled, shape.window, calendar=calendar)
    naive_error = tuple(seasonal_naive_error(scaled, min(season, shape.window)).tolist())
    past = SeriesBaseline(season, ridge(scaled, *shape), naive_error)
    return source, SeriesField(horizon, target.names, (target.mean, target.spread), past)


def _new_fields(
    config: Config, request: TrainingRequest, table: SeriesTable
) -> tuple[Config, Fields]:
    """New fields, or those of the base run; with the configuration adapted to them."""
    if request.base is None:
        return config, series_fields(table, config, _training_range(table, config, request))
    fields = cast(Fields, request.base.fields)
    return request.base.fine_tuning_config(config, request.options), fields


def _training_range(table: SeriesTable, config: Config, request: TrainingRequest) -> range:
    """The training rows; all of them if validation data is separate."""
    return range(len(table)) if request.valid is not None else split_ranges(table, config.data)[0]


def _read_and_plan(
    request: TrainingRequest, report: Report, check: ConfigCheck
) -> tuple[Config, SeriesTable]:
    """The table, and the configuration planned for its size."""
    likely = request.outline()
    columns: SeriesColumns | WindowConfig = _columns(likely)[0]
    if request.base is not None:
        columns = SeriesColumns.of(*cast(Fields, request.base.fields))
    if likely.data.weight:
        raise ConfigError(
            "it weighs rows of pairs, and a series has none",
            place=Setting("data.weight"),
            remedy="leave it out",
        )
    table = read_series(request.data, likely.data, columns, report)
    config = request.plan(Facts(len(table), NO_TEXT, NO_TEXT))
    check(config)
    return config, table


def _shape(config: Config) -> WindowShape:
    source, target = _columns(config)
    return WindowShape(source.window, target.horizon)


def _columns(config: Config) -> tuple[WindowConfig, HorizonConfig]:
    """The source and target columns; ConfigError if they are not both series."""
    if not isinstance(config.source, WindowConfig) or not isinstance(config.target, HorizonConfig):
        raise ConfigError(
            "a series is forecast from series", remedy="set source.kind and target.kind"
        )
    return config.source, config.target


def _read(data: Data, config: Config, report: Report, fields: Fields) -> SeriesTable:
    """A table with the columns of a run."""
    return read_series(data, config.data, SeriesColumns.of(*fields), report)


@dataclass(frozen=True)
class _WindowSplits:
    """The training windows and the validation windows, wherever each comes from."""

    directory: RunDirectory
    request: TrainingRequest
    config: Config
    fields: Fields
    watch: TrainingObserver

    def validation_table(self, table: SeriesTable, report: Report) -> SeriesTable:
        """The table of the validation windows: the training table, or a separate one."""
        if self.request.valid is None:
            return table
        return _read(self.request.valid, self.config, report, self.fields)

    def mark(self, side: Literal["train", "valid"]) -> str:
        """The fingerprint of one side."""
        request, columns = self.request, Columns(*self.fields, self.config.data)
        data = request.data if side == "train" or request.valid is None else request.valid
        return fingerprint(data, columns, side, self.config.seed, request.valid is None)

    def corpus(self, side: Literal["train", "valid"], table: SeriesTable) -> Corpus:
        """Encode one side, or reuse an existing encoding."""
        place, mark = self.directory.cache_directory / side, self.mark(side)
        corpus = Corpus.reuse(place, mark, self.watch.on_message)
        if corpus is not None:
            return corpus
        chosen = self._windows(side, table)
        return window_corpus(table, chosen, self.fields, directory=place, fingerprint=mark)

    def _windows(self, side: Literal["train", "valid"], table: SeriesTable) -> Windows:
        shape = _shape(self.config)
        if side == "train" or self.request.valid is not None:
            rows = _training_range(table, self.config, self.request)
        else:
            rows = split_ranges(table, self.config.data)[1]
        chosen = find_windows(table, shape, rows)
        if not len(chosen.starts):
            raise _too_short(table, len(rows), shape)
        return chosen


def _too_short(table: SeriesTable, rows: int, shape: WindowShape) -> DataError:
    """The error of rows without a window: too few of them, or gaps in every stretch."""
    parts = f"window of {shape.window:,} steps and forecast of {shape.horizon:,}"
    if rows < sum(shape):
        return DataError(
            f"{rows:,} rows hold no whole {parts}",
            place=table.file,
            remedy="give more rows, lower source.window or target.horizon, or set data.valid_share",
        )
    return DataError(
        f"none of {rows:,} rows begins a whole {parts} without a gap",
        place=table.file,
        remedy="fill in the rows between, or lower source.window or target.horizon",
    )
