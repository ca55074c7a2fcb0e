"""Pictures of forecasts: drawn for one column and for many, with bands and without."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from seqloom.drawing.forecast import draw_forecast, fill_forecast
from seqloom.drawing.time_labels import shorten_times
from seqloom.prediction import Forecast


@pytest.mark.parametrize(("columns", "bands"), [(1, True), (7, True), (2, False)])
def test_the_same_forecast_is_the_same_picture(tmp_path: Path, columns: int, bands: bool) -> None:
    """Byte for byte, and it names every column, what was observed and what is expected."""
    names = tuple(f"column{number}" for number in range(columns))
    values = np.random.default_rng(1).normal(size=(6, columns))
    forecast = Forecast(
        names,
        "day",
        tuple(f"2026-01-0{n}" for n in range(1, 7)),
        values,
        {0.1: values - 1, 0.9: values + 1} if bands else {},
        np.zeros((30, columns)),
        values + 0.1,
    )
    for name in ("a.svg", "b.svg"):
        draw_forecast(forecast, tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    for words in (*names, "observed", "forecast", "what came", "2026-01-01"):
        assert words in text
    assert ("0.1 to 0.9 of the outcomes" in text) == bands


START = np.datetime64("2026-01-31T22:00:00")
SECONDS = {"hourly": 3_600, "quarters of an hour": 900, "daily": 86_400, "by the second": 1}


@pytest.mark.parametrize(("steps", "columns"), [(2, 1), (24, 1), (96, 4)])
@pytest.mark.parametrize("kind", [*SECONDS, "dates", "numbers"])
def test_times_below_do_not_overlap(kind: str, steps: int, columns: int) -> None:
    """As drawn: neither each other, nor the axis of the picture beside them."""
    if kind in SECONDS:
        moments = START + np.arange(steps) * np.timedelta64(SECONDS[kind], "s")
        times = [str(each).replace("T", " ") for each in moments]
    else:
        days = np.datetime64("2026-01-01") + np.arange(steps)
        times = list(map(str, days if kind == "dates" else 1_000_000 + np.arange(steps)))
    values = np.zeros((steps, columns))
    names = tuple("abcd"[:columns])
    figure = Figure()
    renderer: Any = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    past = np.full((3 * steps, columns), 10_000.0)
    fill_forecast(figure, Forecast(names, "time", tuple(times), values, {}, past))
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = [each.get_window_extent(renderer) for each in axes.get_xticklabels()]
        assert boxes
        assert all(one.x1 < two.x0 for one, two in pairwise(boxes))
    if columns > 1:
        left, right = figure.axes[:2]
        assert max(each.get_window_extent(renderer).x1 for each in left.get_xticklabels()) < min(
            each.get_window_extent(renderer).x0 for each in right.get_yticklabels()
        )


def test_times_are_shortened_to_what_differs() -> None:
    hourly = ["2026-01-31 22:00:00", "2026-01-31 23:00:00", "2026-02-01 00:00:00"]
    assert shorten_times(hourly) == ["22:00\n2026-01-31", "23:00", "00:00\n2026-02-01"]
    assert shorten_times([hourly[2], "2026-02-02 00:00:00"]) == ["2026-02-01", "2026-02-02"]
    assert shorten_times(["Jan 2026", "Feb 2026"]) == ["Jan 2026", "Feb 2026"]
    assert shorten_times(["2026-01-31 22:00:05", "2026-01-31 22:00:10"])[1] == "22:00:10"
