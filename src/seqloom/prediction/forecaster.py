"""The predictor of time series: from a table to windows and forecasts (S1.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.data import (
    Data,
    DataLike,
    Report,
    SeriesColumns,
    SeriesTable,
    WindowShape,
    as_data,
    read_series,
    source_rows,
)
from seqloom.errors import ConfigError, DataError
from seqloom.fields import SeriesField, Values
from seqloom.fields.numbers import write_numbers
from seqloom.model import Source
from seqloom.prediction.head_predictor import HeadPredictor
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.joining import BLANK_OUTPUT
from seqloom.prediction.output import Forecast, Output, ScoredOutput

__all__ = ["Forecaster"]

ROWS = 256  # windows in a batch
MAX_STEPS = 100_000


@dataclass(frozen=True)
class Forecaster(HeadPredictor):
    """The predictor for targets of time series.

    `after` forecasts what follows a table; as any predictor it can also be called with cells, each
    of which is a window.
    """

    source: SeriesField
    target: SeriesField

    @property
    def columns(self) -> SeriesColumns:
        """The columns of the run."""
        return SeriesColumns.of(self.source, self.target)

    @property
    def shape(self) -> WindowShape:
        """The numbers of steps that the network reads and forecasts."""
        return WindowShape(self.source.items.steps, self.target.items.steps)

    def input_positions(self, steps: int | None) -> int:
        """Positions read to forecast so many steps; by default the horizon."""
        window, horizon = self.shape
        return -(-self._step_count(steps) // horizon) * window

    def read_table(
        self,
        data: DataLike,
        report: Report | None = None,
        *,
        ahead: bool = False,
        skip_bad: bool = False,
    ) -> SeriesTable:
        """Read a table with the run's columns; with `ahead`, known columns may continue after its
        end.
        """
        config = self.config.data.model_copy(update={"skip_bad": skip_bad})
        return read_series(as_data(data), config, self.columns, report or Report(), ahead=ahead)

    def forecast_after(
        self, data: DataLike, *, steps: int | None = None, skip_bad: bool = False
    ) -> Forecast:
        """Forecast the steps after the end of a table: the horizon, or another number."""
        table = self.read_table(data, ahead=True, skip_bad=skip_bad)
        return self.forecast(table, len(table) - table.ahead, steps=steps)

    def forecast(self, table: SeriesTable, start: int, *, steps: int | None = None) -> Forecast:
        """Forecast the rows from number `start` on.

        Beyond the horizon, forecast means are read as if observed.
        """
        window, horizon = self.shape
        steps = self._step_count(steps)
        self._check_table(table, start, steps)
        rows = _extend_rows(source_rows(table, horizon), start + steps)[start - window :]
        given = self.source.scale(rows)
        given[window:, : self.columns.observation_width] = np.nan
        found: list[NDArray[np.float32]] = []
        for first in range(0, steps, horizon):
            end = first + window
            found.append(self.forecast_windows(given[first:end][None])[0])
            fed = given[end : end + horizon, : len(self.target.names)]
            fed[:] = found[-1][: len(fed), :, 0]
        values = table.values[:, : len(self.target.names)]
        came = values[start : start + steps]
        whole = len(came) == steps and bool(np.isfinite(came).all())
        return self._build_forecast(
            np.concatenate(found)[:steps],
            (table.time_name, table.times_after(start, steps)),
            values[start - window : start],
            came if whole else None,
        )

    def last_window(self, data: Data) -> NDArray[np.float32]:
        """The last window of a table, standardised (S, C); or that of a cell of numbers."""
        if isinstance(data, str) and self.source.fault(data) is None:
            (values,) = self.source.rows([data])
            return self._check_window(np.asarray(values, np.float32), 1)
        table = self.read_table(data, ahead=True)
        start, (window, horizon) = len(table) - table.ahead, self.shape
        self._check_table(table, start, self._step_count(None))
        rows = _extend_rows(source_rows(table, horizon), start)
        return self.source.scale(rows[start - window : start])

    def encode_cell(self, cell: str | Values) -> Values:
        """The last window of a table or of a cell of numbers, standardised."""
        return self.last_window(cell) if isinstance(cell, str) else np.asarray(cell, np.float32)

    def forecast_with_actual(
        self, window: NDArray[np.float32], came: NDArray[np.float32]
    ) -> Forecast:
        """The forecast of one standardised window with the observed future; its times are steps."""
        return self._forecast_window(window, self.target.unscale(came))

    def forecast_windows(self, windows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Forecasts (N, T, C, Q) of windows (N, S, C), both standardised: mean, then quantiles."""
        parts = [
            self._forecast_batch(windows[first : first + ROWS])
            for first in range(0, len(windows), ROWS)
        ]
        return np.concatenate(parts)

    @torch.inference_mode()
    def _forecast_batch(self, windows: NDArray[np.float32]) -> NDArray[np.float32]:
        self.network.eval()
        values = torch.from_numpy(np.ascontiguousarray(windows))
        lengths = torch.full((len(values),), values.shape[1])
        judged = self.network.head(self.network.encoder.encode(Source(values, lengths)))
        edges = 1 + len(self.target.items.quantiles)
        found: NDArray[np.float32] = judged.unflatten(2, (len(self.target.names), edges)).numpy()
        return found

    def output(self, forecast: Forecast) -> Output:
        """A forecast as an Output: its mean as text, with the full forecast attached."""
        text = "; ".join(write_numbers(step) for step in forecast.mean)
        return Output(text, nan, nan, (), "end", forecast=forecast)

    def outputs(
        self, encoded: Sequence[EncodedInput], count: int, likeliest: int = 1
    ) -> list[Output]:
        """The outputs of so many cells; those not encoded are blank."""
        outputs = [BLANK_OUTPUT] * count
        for each in encoded:
            values = self._check_window(np.asarray(each.values, np.float32), each.number + 1)
            outputs[each.number] = self.output(self._forecast_window(values))
        return outputs

    def score_encoded(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[str]
    ) -> list[ScoredOutput]:
        """Raise ConfigError: a head of numbers gives no distribution."""
        raise ConfigError("numbers have no log-probability here", remedy="use evaluate")

    def as_forecaster(self) -> "Forecaster":
        """This predictor."""
        return self

    def _forecast_window(
        self, window: NDArray[np.float32], actual: NDArray[np.float64] | None = None
    ) -> Forecast:
        """The forecast of one standardised window; its times are steps."""
        found = self.forecast_windows(window[None])[0]
        times = tuple(str(number) for number in range(1, len(found) + 1))
        past = self.target.unscale(window[:, : len(self.target.names)])
        return self._build_forecast(found, ("step", times), past, actual)

    def _check_window(self, values: NDArray[np.float32], number: int) -> NDArray[np.float32]:
        """Check the shape of a window; DataError for any other."""
        if len(values) != self.shape.window:
            raise DataError(
                f"input {number} has {len(values):,} steps where the model reads "
                f"{self.shape.window:,}",
                remedy="give as many",
            )
        return values

    def _step_count(self, steps: int | None) -> int:
        steps = self.shape.horizon if steps is None else steps
        if not 1 <= steps <= MAX_STEPS:
            raise ConfigError(f"target.horizon = {steps}: forecast 1 to {MAX_STEPS:,} steps")
        if steps > self.shape.horizon and self.columns.others:
            raise ConfigError(
                f"target.horizon = {steps}: beyond the {self.shape.horizon:,} steps that were "
                f"learnt, what will {', '.join(self.columns.others)} be? Forecast those columns too"
            )
        return steps

    def _check_table(self, table: SeriesTable, start: int, steps: int) -> None:
        window = self.shape.window
        if start < window:
            raise DataError(
                f"has {start:,} rows where the model reads {window:,}",
                place=table.file,
                remedy="give more",
            )
        rows = slice(start - window, start)
        bad = np.flatnonzero(~table.usable[rows] | ~table.follows[rows])
        bad = bad[bad > 0] if len(bad) and table.usable[rows.start] else bad
        if len(bad):
            place = f"{table.file}:{table.lines[rows.start + bad[0]]}"
            raise DataError(
                f"is among the last {window:,} rows, which are read, and cannot be used",
                place=place,
                remedy="mend it",
            )
        have = len(table) - start
        blocks = -(-steps // self.shape.horizon) * self.shape.horizon
        if self.columns.known and have < blocks:
            raise DataError(
                f"{', '.join(self.columns.known)} must be given for {blocks:,} steps after the "
                f"last row and is for {have:,}",
                place=table.file,
                remedy="add rows with the other columns empty",
            )

    def _build_forecast(
        self,
        found: NDArray[np.float32],
        times: tuple[str, tuple[str, ...]],
        past: NDArray[np.float64],
        actual: NDArray[np.float64] | None,
    ) -> Forecast:
        """Convert a standardised forecast (T, C, Q) to the units of the columns."""
        edges = np.sort(found[..., 1:], axis=-1)  # quantiles of a poorly trained model may cross
        shares = sorted(self.target.items.quantiles)
        return Forecast(
            columns=self.target.names,
            time_name=times[0],
            times=times[1],
            mean=self.target.unscale(found[..., 0]),
            quantiles={
                share: self.target.unscale(edges[..., number])
                for number, share in enumerate(shares)
            },
            past=past,
            actual=actual,
        )


def _extend_rows(rows: NDArray[np.float64], end: int) -> NDArray[np.float64]:
    """The rows up to `end`, padded with empty ones."""
    missing = max(0, end - len(rows))
    return np.pad(rows, ((0, missing), (0, 0)), constant_values=np.nan)[:end]
