"""Forecast plots: the past, the mean and the prediction intervals, and actual values (S9)."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from seqloom.drawing.image_files import save
from seqloom.drawing.time_labels import time_labels
from seqloom.prediction import Forecast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_forecast", "fill_forecast"]

BLUE, ORANGE, GREY = "#1f5fa8", "#c8641e", "#6b6b6b"
MOST_COLUMNS = 12  # columns drawn
PAST = 2  # steps of the past, as a multiple of the forecast's, ...
LEAST_PAST = 24  # ... but at least this many
LETTER = 0.072  # inches per letter of a label


def draw_forecast(forecast: Forecast, path: Path) -> None:
    """Write a plot as PNG or SVG, by the path's ending, with a row for each column."""
    save(path, lambda figure: fill_forecast(figure, forecast), dots=110)


def fill_forecast(figure: "Figure", forecast: Forecast) -> None:
    """Draw a row for each column: the past, the forecast with its intervals, and actual values."""
    columns = forecast.columns[:MOST_COLUMNS]
    wide = 2 if len(columns) > 3 else 1
    tall = -(-len(columns) // wide)
    figure.set_size_inches(9 if wide == 1 else 12, 0.8 + 2.2 * tall)
    figure.set_layout_engine("constrained")
    grid = figure.subplots(tall, wide, squeeze=False).T.flatten()
    for number, axes in enumerate(grid):
        axes.set_visible(number < len(columns))
        if number < len(columns):
            _column(axes, forecast, number, width=4.8 if wide == 2 else 8.0)
            axes.set_title(columns[number], fontsize=10, loc="left")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper right", ncols=len(labels), frameon=False, fontsize=8
    )


def _column(axes: "Axes", forecast: Forecast, number: int, *, width: float) -> None:
    """Draw one column on axes of at least this width in inches."""
    steps = len(forecast.times)
    shown = min(len(forecast.past), max(PAST * steps, LEAST_PAST))
    past = forecast.past[len(forecast.past) - shown :, number]
    ahead = np.arange(1, steps + 1)
    axes.plot(np.arange(1 - shown, 1), past, color=GREY, lw=1, label="observed")
    if forecast.actual is not None:
        came = np.concatenate([past[-1:], forecast.actual[:, number]])
        axes.plot(np.arange(steps + 1), came, color=GREY, lw=1, ls=":", label="what came")
    shares = sorted(forecast.quantiles)
    for low, high in zip(shares, reversed(shares), strict=True):
        if low < high:
            edges = forecast.quantiles[low][:, number], forecast.quantiles[high][:, number]
            words = f"{low:g} to {high:g} of the outcomes"
            axes.fill_between(ahead, *edges, color=ORANGE, alpha=0.2, lw=0, label=words)
    axes.plot(ahead, forecast.mean[:, number], color=BLUE, lw=1.4, label="forecast")
    axes.axvline(0.5, color=GREY, lw=0.6)
    axes.margins(x=0.01)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    room = width / LETTER * (steps - 1) / (shown + steps)
    places, labels = time_labels(forecast.times, room)
    axes.set_xticks([place + 1 for place in places], labels)
