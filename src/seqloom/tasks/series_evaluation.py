"""Evaluate forecasts of a run against actual values and baselines (S8)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.config import merge, validate
from seqloom.data import (
    Corpus,
    Data,
    Report,
    SeriesTable,
    Windows,
    even_indices,
    find_windows,
    source_rows,
    split_ranges,
)
from seqloom.drawing.forecast import draw_forecast
from seqloom.errors import DataError
from seqloom.metrics import (
    ColumnErrors,
    ForecastErrors,
    Score,
    SeriesScale,
    StepErrors,
    linear_forecast,
    score_all,
    seasonal_naive,
)
from seqloom.prediction import Forecaster
from seqloom.runs.held_out import HeldOut, Measurement
from seqloom.runs.progress import Progress, Validation, ValidationSample
from seqloom.tasks.evaluation import EvaluationResult, advice, forecast_breakdowns

__all__ = ["HeldOutSeries", "SeriesEvaluation", "evaluate_series"]

PICTURE = "forecast.png"
GROUP = 512  # windows forecast together
BASELINE_NAMES = {"naive": "seasonal naive", "linear": "linear (ridge)"}
SAMPLED_WINDOWS = 2_000  # windows forecast per validation


@dataclass(frozen=True)
class SeriesEvaluation(EvaluationResult):
    """The evaluation of a model's forecasts, with two baselines."""

    baselines: Mapping[str, tuple[Score, ...]]
    columns: ColumnErrors
    steps: StepErrors
    place: str  # the rows evaluated

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rows": self.report.kept,
            "forecast": self.place,
            "scores": [score.as_dict() for score in self.scores],
            "baselines": {
                name: [score.as_dict() for score in scores]
                for name, scores in self.baselines.items()
            },
            **({"ahead": self.ahead_lines()[0]} if self.ahead_lines() else {}),
            "variates": self.columns.as_dict()["rows"],
            "steps": self.steps.as_dict()["rows"],
        }

    def row_line(self) -> str:
        """A line on the windows evaluated."""
        return self.place

    def baseline_rows(self) -> list[tuple[str, str]]:
        """The result of each baseline."""
        return [(name, ", ".join(map(str, scores))) for name, scores in self.baselines.items()]

    def baseline_scores(self) -> dict[str, tuple[Score, ...]]:
        """The errors of each baseline."""
        return dict(self.baselines)

    def lines(self) -> list[str]:
        """A line for each metric, then one for each baseline."""
        lines = [*(self.report.lines() if self.report.total_dropped else []), self.place]
        lines += self.score_lines()
        beside = [f"{name}: {words}" for name, words in self.baseline_rows()]
        return [*lines, *beside, *self.ahead_lines()]

    def variate_lines(self) -> list[str]:
        """A line for each column."""
        return [
            f"{each.name}: MSE {each.mse:.4f}, MAE {each.mae:.4f} standardised; MAE "
            f"{each.mae_own:.4g} in its own units, sMAPE {each.smape:.1f}"
            + (f", MASE {each.mase:.3f}" if not math.isnan(each.mase) else "")
            for each in self.columns.rows
        ]


def evaluate_series(
    model: Forecaster, data: Data, *, options: Mapping[str, Any] | None = None
) -> SeriesEvaluation:
    """Forecast every window of a table, or of its test part if `data.parts` defines one."""
    report = Report()
    tables = merge(model.config.model_dump(mode="json"), options or {})
    config = validate(tables, place="options").data
    table = model.read_table(data, report, skip_bad=config.skip_bad)
    tested = len(config.parts) == 3 and len(table) >= sum(config.parts)
    rows = split_ranges(table, config)[2] if tested else range(len(table))
    chosen = find_windows(table, model.shape, rows)
    if not len(chosen.starts):
        window, horizon = model.shape
        raise DataError(
            f"{len(rows):,} rows hold no whole window of {window:,} steps and forecast of "
            f"{horizon:,}",
            place=table.file,
            remedy="give more rows",
        )
    errors = _all_errors(model, table, chosen)
    horizon = model.shape.horizon
    scores = {name: score_all(each) for name, each in errors.items()}
    place = (
        f"{len(chosen.starts):,} window{'s' * (len(chosen.starts) != 1)} of rows "
        f"{rows.start + 1:,} to {rows.stop:,}, each forecast {horizon:,} steps ahead"
    )
    season = model.target.past.naive_period if model.target.past else 1
    names = {
        name: words + f" (season of {season:,})" * (name == "naive")
        for name, words in BASELINE_NAMES.items()
    }
    baselines = {words: tuple(scores[name]) for name, words in names.items() if name in scores}
    columns, steps = ColumnErrors.of(errors["model"], model.target), StepErrors.of(errors["model"])
    breakdowns = forecast_breakdowns(columns, steps)
    own = tuple(scores["model"])
    found = SeriesEvaluation(report, own, baselines, columns, steps, place, breakdowns=breakdowns)
    return replace(found, advice=advice(model.config, None))


def _all_errors(
    model: Forecaster, table: SeriesTable, chosen: Windows
) -> dict[str, ForecastErrors]:
    """The errors of the model and of the baselines, window by window."""
    starts, (window, horizon) = chosen
    columns = len(model.target.names)
    read = model.source.scale(source_rows(table, horizon))
    targets = model.target.scale(table.values[:, :columns])
    found: dict[str, list[ForecastErrors]] = {}
    scale = SeriesScale.of(model.target)
    for first in range(0, len(starts), GROUP):
        group = starts[first : first + GROUP, None]
        pasts = read[group - window + np.arange(window)]
        wanted = targets[group + np.arange(horizon)]
        forecasts = {
            "model": model.forecast_windows(pasts)[..., 0],
            **_baseline_forecasts(model, pasts[..., :columns]),
        }
        for name, forecast in forecasts.items():
            found.setdefault(name, []).append(ForecastErrors.of(forecast, wanted, scale))
    return {name: ForecastErrors.join(each, block=horizon) for name, each in found.items()}


def _baseline_forecasts(
    model: Forecaster, pasts: NDArray[np.float32]
) -> dict[str, NDArray[np.floating]]:
    past, horizon = model.target.past, model.shape.horizon
    if past is None:
        return {}
    naive = seasonal_naive(pasts, past.naive_period, horizon)
    return {"naive": naive, "linear": linear_forecast(pasts, past.linear)}


class HeldOutSeries(HeldOut[Forecaster]):
    """Evaluates weights by forecasts of validation windows, autoregressively if the head is."""

    def validation(
        self, progress: Progress, measured: Measurement, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The validation of the newest step, on evenly spaced windows."""
        errors, model = [], self.model
        for windows, actual in self._groups():
            forecast = model.forecast_windows(windows)[..., 0]
            errors.append(ForecastErrors.of(forecast, actual, SeriesScale.of(model.target)))
        scores = score_all(ForecastErrors.join(errors), seed=None)
        return super().validation(progress, replace(measured, scores=tuple(scores)), samples)

    def baseline_scores(self, train: Corpus) -> dict[str, tuple[Score, ...]]:
        """The errors of the baselines on the same windows."""
        model, errors = self.model, dict[str, list[ForecastErrors]]()
        for windows, actual in self._groups():
            pasts = windows[..., : len(model.target.names)]
            for name, forecast in _baseline_forecasts(model, pasts).items():
                found = ForecastErrors.of(forecast, actual, SeriesScale.of(model.target))
                errors.setdefault(name, []).append(found)
        return {
            BASELINE_NAMES[name]: tuple(score_all(ForecastErrors.join(each), seed=None))
            for name, each in errors.items()
        }

    def _groups(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Evenly spaced validation windows, and the steps after each."""
        chosen = even_indices(len(self.rows), SAMPLED_WINDOWS)
        for first in range(0, len(chosen), GROUP):
            batch = self.rows.batch(chosen[first : first + GROUP])
            yield np.asarray(batch.source, np.float32), np.asarray(batch.target, np.float32)

    def draw(self, directory: Path) -> None:
        """Draw the forecast of the last validation window with the actual values."""
        last = self.rows.batch(np.array([len(self.rows) - 1]))
        window, came = np.asarray(last.source[0]), np.asarray(last.target[0])
        draw_forecast(self.model.forecast_with_actual(window, came), directory / PICTURE)
