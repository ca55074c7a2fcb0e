"""Plots of a sweep: the learning curve of each trial, and results by option (S9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.drawing.image_files import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["TrialCurve", "draw_sweep"]

BEST, OTHER = "#c8641e", "#1f5fa8"
MOST_PANELS = 6
WIDE = 20  # ratio to the smallest value above which an axis is logarithmic


@dataclass(frozen=True)
class TrialCurve:
    """One trial: its setting, its completed rungs, and its results as (update, value)."""

    name: str
    setting: dict[str, Any]
    rungs: int
    results: list[tuple[int, float]]

    @property
    def best(self) -> float:
        """The trial's best result."""
        return max(value for _, value in self.results)


def draw_sweep(trials: Sequence[TrialCurve], path: Path, *, title: str) -> None:
    """Write the plot as PNG or SVG, by the path's ending; the first trial is the best."""
    save(path, lambda figure: _fill(figure, trials, title), dots=110)


def _fill(figure: "Figure", trials: Sequence[TrialCurve], title: str) -> None:
    shown = [trial for trial in trials if trial.results]
    names = list(trials[0].setting)[:MOST_PANELS]
    rows = 1 + (len(names) + 2) // 3
    figure.set_size_inches(10, 3 * rows)
    figure.set_layout_engine("constrained")
    grid = figure.add_gridspec(rows, 3)
    _curves(figure.add_subplot(grid[0, :]), shown, title)
    for number, name in enumerate(names):
        axes = figure.add_subplot(grid[1 + number // 3, number % 3])
        _option(axes, shown, name)
        axes.set_ylabel(title if number % 3 == 0 else "", fontsize=9)


def _curves(axes: "Axes", trials: Sequence[TrialCurve], title: str) -> None:
    """Draw each trial's curve, the best on top."""
    _frame(axes, "updates", f"{title}; best: {trials[0].name}")
    for trial in reversed(trials):
        steps, values = zip(*trial.results, strict=True)
        best = trial is trials[0]
        axes.plot(
            steps,
            values,
            "o-",
            ms=3,
            lw=2 if best else 1,
            color=BEST if best else OTHER,
            alpha=1.0 if best else 0.5,
        )
    axes.set_xlim(left=0)


def _option(axes: "Axes", trials: Sequence[TrialCurve], name: str) -> None:
    """Draw the best result of each trial by one option; larger dots completed more rungs."""
    _frame(axes, name, "")
    values = [trial.setting[name] for trial in trials]
    numeric = all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)
    places = values if numeric else [str(each) for each in values]
    axes.scatter(
        places,
        [trial.best for trial in trials],
        s=[18 * trial.rungs**1.5 for trial in trials],
        c=[BEST if trial is trials[0] else OTHER for trial in trials],
        alpha=0.7,
        linewidths=0,
    )
    if numeric and min(values) > 0 and max(values) > WIDE * min(values):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")


def _frame(axes: "Axes", below: str, above: str) -> None:
    axes.set_title(above, fontsize=10)
    axes.set_xlabel(below, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(color="0.93")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
