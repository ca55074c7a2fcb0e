"""Learning curves: losses, validation results, learning rate and gradient norm by update (S9)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.drawing.image_files import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curves", "draw_curves", "fill_curves"]

Points = list[tuple[int, float]]
FEW = 40  # points up to which each has a marker
BLUE, ORANGE, GREY = "#1f5fa8", "#c8641e", "#8a8a8a"


@dataclass(frozen=True)
class Curves:
    """A run's history as series of (update, value)."""

    training: Points
    held_out: Points
    metric: Points
    rate: Points
    gradient: Points
    name: str = "metric"  # of the validation metric

    @classmethod
    def of(cls, events: Iterable[Mapping[str, Any]], metric: str = "metric") -> "Curves":
        """Collect the curves from a run's events, without values that are not finite."""
        kept = list(events)
        names = [name for event in kept for name in event.get("scores") or ()]
        return cls(
            _points(kept, "update", "loss"),
            _points(kept, "validation", "loss"),
            _points(kept, "validation", metric),
            _points(kept, "update", "rate"),
            _points(kept, "update", "gradient_norm"),
            names[0] if names else "−loss",
        )


def draw_curves(curves: Curves, path: Path, *, best: int | None = None) -> None:
    """Write the curves as PNG or SVG, by the path's ending, with the best step marked."""
    save(path, lambda figure: fill_curves(figure, curves, best), dots=110)


def _points(events: Sequence[Mapping[str, Any]], kind: str, value: str) -> Points:
    return [
        (event["step"], event[value])
        for event in events
        if event.get("event") == kind and isinstance(event.get(value), int | float)
    ]


def fill_curves(figure: "Figure", curves: Curves, best: int | None) -> None:
    """Draw losses, validation results, learning rate and gradient norm side by side."""
    figure.set_size_inches(10, 3)
    figure.set_layout_engine("constrained")
    loss, metric, rate = figure.subplots(1, 3)
    _frame(loss, "loss")
    _line(loss, curves.training, BLUE, "training, as minimised")
    _line(loss, curves.held_out, ORANGE, "held out")
    if curves.training or curves.held_out:
        loss.legend(frameon=False, fontsize=8)
    _frame(metric, f"held-out {curves.name}" + (f", best at update {best:,}" if best else ""))
    _line(metric, curves.metric, ORANGE)
    for step, value in curves.metric:
        if step == best:
            metric.plot([step], [value], "o", color=BLUE)
    _frame(rate, "")
    rate.set_ylabel("learning rate", color=BLUE, fontsize=9)
    _line(rate, curves.rate, BLUE)
    norm = rate.twinx()
    _frame(norm, "")
    norm.set_ylabel("norm of the gradient", color=GREY, fontsize=9)
    norm.spines["right"].set_visible(True)
    _line(norm, curves.gradient, GREY, width=0.6)
    for axes in (loss, metric, rate, norm):
        values = [value for line in axes.lines for value in line.get_ydata()]
        lowest, highest = min([0.0, *values]), max([0.0, *values])
        axes.set_xlim(left=0)
        axes.set_ylim(1.05 * lowest, 1.05 * highest or 1.0)


def _frame(axes: "Axes", title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("update", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _line(axes: "Axes", points: Points, color: str, label: str = "", *, width: float = 1.3) -> None:
    """Draw a curve; few points have markers."""
    if points:
        steps, values = zip(*points, strict=True)
        marker = "." if len(points) < FEW else ""
        axes.plot(steps, values, color=color, label=label, lw=width, marker=marker)
