"""Series: forecasts of numeric columns from their past (S1.2)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.config import Config
from seqloom.data import Corpus, Data, even_indices, find_windows, source_rows
from seqloom.drawing.views import View
from seqloom.errors import DataError
from seqloom.explanations.explained_output import Cell, ExplainedForecast
from seqloom.explanations.media import group_features
from seqloom.metrics import ColumnErrors, ForecastErrors, SeriesScale, StepErrors, score_all
from seqloom.model import Network
from seqloom.prediction import Forecaster, Output
from seqloom.remedies import Wording
from seqloom.runs.held_out import quantile_guess_loss
from seqloom.runs.prepare import PreparedData
from seqloom.runs.progress import TrainingObserver
from seqloom.runs.request import RunDraft, TrainingRequest
from seqloom.search import Search
from seqloom.store import RunDirectory
from seqloom.tasks.evaluation import forecast_breakdowns
from seqloom.tasks.examples import ExampleInput, window_examples
from seqloom.tasks.outputs import refuse_output
from seqloom.tasks.report_rows import ForecastResults, HeldOutRow, ReportRows, Scale, open_held_out
from seqloom.tasks.series_data import ReportedTable, check_series, draft_series, prepare_series
from seqloom.tasks.series_evaluation import HeldOutSeries, SeriesEvaluation, evaluate_series
from seqloom.tasks.task import TASKS, Task
from seqloom.tasks.views import attribution_views

__all__ = ["SERIES", "SeriesTask"]

SCALE = Scale("mean |error|", "")
Windows = NDArray[np.float32]


class SeriesTask(Task[Forecaster]):
    """A target of series."""

    kind = "series"
    verb = "Forecast"
    digits = 4
    has_perplexity = False

    def draft(self, request: TrainingRequest, watch: TrainingObserver) -> RunDraft[ReportedTable]:
        """Read the series and plan a new run, before anything is written."""
        return draft_series(request, watch, check=self.check_config)

    def prepare(
        self,
        directory: RunDirectory,
        request: TrainingRequest,
        watch: TrainingObserver,
        *,
        draft: RunDraft[ReportedTable] | None = None,
    ) -> PreparedData:
        """Create or load a run's configuration, columns and scale, and its encoded windows."""
        return prepare_series(directory, request, watch, draft=draft, check=self.check_config)

    def check_data(
        self, request: TrainingRequest, wording: Wording, watch: TrainingObserver
    ) -> Iterator[str]:
        """Describe a series and the training it would lead to, as lines of text."""
        return check_series(request, check=self.check_config, wording=wording)

    def predictor(
        self,
        config: Config,
        source: Any,
        target: Any,
        network: Any,
        *,
        run: RunDirectory | None = None,
    ) -> Forecaster:
        """The network as a forecaster."""
        known = None if run is None else run.cache_directory / "train"
        return Forecaster(config, source, target, network, known)

    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOutSeries:
        """The forecast errors on validation windows."""
        model = self.predictor(prepared.config, prepared.source, prepared.target, network)
        return HeldOutSeries(prepared, model)

    def guess_loss(self, train: Corpus, valid: Corpus, target: Any) -> float:
        """The loss of predicting the mean and the quantiles of the training windows."""
        return quantile_guess_loss(train, valid, target.items.quantiles)

    def describe(self, config: Config) -> str:
        """Describe what a model does."""
        return "a model of series forecasts"

    def examples(self, model: Forecaster, held: Sequence[HeldOutRow]) -> list[ExampleInput]:
        """Validation windows, and the steps after them."""
        return window_examples(model, held)

    def describe_loss(self, loss: float) -> str:
        """The loss with its name."""
        return f"loss {loss:.4f}"

    def evaluate(
        self,
        model: Forecaster,
        data: Data,
        *,
        options: Mapping[str, Any] | None = None,
        search: Search | None = None,
        lowercase: bool = False,
    ) -> SeriesEvaluation:
        """The forecast errors, compared with those of two baselines."""
        self.check_evaluation(model.config, search, lowercase=lowercase)
        return evaluate_series(model, data, options=options)

    def report(
        self, directory: RunDirectory, model: Forecaster, data: Data | None, *, most: int
    ) -> ForecastResults:
        """The windows of a table, or the validation windows."""
        if data is None:
            held = open_held_out(directory, model, most=most)
            pasts = np.stack([np.asarray(row.source_values, np.float32) for row in held])
            wanted = np.stack([np.asarray(row.target_values, np.float32) for row in held])
        else:
            pasts, wanted = _windows(model, data, most)
        found = model.forecast_windows(pasts)[..., 0]
        off = np.abs(found - wanted)
        order = np.argsort(off.mean(axis=(1, 2)), kind="stable")
        ends = [
            model.forecast_with_actual(pasts[number], wanted[number])
            for number in (order[0], order[-1])
        ]
        heading, views = self.views(model, list(pasts))
        block = model.shape.horizon if len(pasts) < most else 1
        errors = ForecastErrors.of(found, wanted, SeriesScale.of(model.target))
        return ForecastResults(
            scores=tuple(score_all(ForecastErrors.join([errors], block=block))),
            views=views,
            views_heading=heading,
            scale=SCALE,
            forecasts=tuple(ends),
            windows=len(pasts),
            breakdowns=forecast_breakdowns(
                ColumnErrors.of(errors, model.target), StepErrors.of(errors)
            ),
        )

    def report_rows(self, model: Forecaster, held: Sequence[HeldOutRow]) -> ReportRows:
        """None: forecasts are shown as pictures."""
        return ReportRows(SCALE, (), ())

    def views(self, model: Forecaster, cells: Sequence[Cell]) -> tuple[str, tuple[View, ...]]:
        """Attributions for a few windows."""
        return attribution_views(model, cells, self.explain)

    def explain(
        self, model: Forecaster, cell: Cell, output: Output | str | None = None
    ) -> ExplainedForecast:
        """A past with its forecast."""
        refuse_output(model, output)
        values, target = np.asarray(model.encode_cell(cell), np.float32), model.target
        ahead = target.unscale(model.forecast_windows(values[None])[0, ..., 0])
        names = tuple(str(number - len(values)) for number in range(len(values)))
        past = target.unscale(values[:, : len(target.names)])
        groups = group_features(model, values)
        return ExplainedForecast(names, target.names, values, groups, past, ahead, target)

    def example_command(self, config: Config, run: Path, data: str) -> str:
        """The command that uses a finished run."""
        skip = " --skip-bad" * config.data.skip_bad
        return f"seqloom predict {run} {data} --picture forecast.png{skip}"


SERIES = TASKS.part("series")(SeriesTask())


def _windows(model: Forecaster, data: Data, most: int) -> tuple[Windows, Windows]:
    """Windows of a table and the steps after each, standardized."""
    table = model.read_table(data)
    starts, (window, horizon) = find_windows(table, model.shape, range(len(table)))
    if not len(starts):
        raise DataError("holds no whole window", place=table.file, remedy="give more rows")
    chosen = starts[even_indices(len(starts), most), None]
    read = model.source.scale(source_rows(table, horizon))
    targets = model.target.scale(table.values[:, : len(model.target.names)])
    return read[chosen - window + np.arange(window)], targets[chosen + np.arange(horizon)]
