"""Forecast errors by column and by step ahead: text, tables and a picture."""

from typing import TYPE_CHECKING

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.page import table
from seqloom.drawing.views import drawing_of, fragment_of, text_of
from seqloom.metrics import ColumnErrors, StepErrors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["column_errors_html", "column_errors_text", "draw_step_errors", "step_errors_text"]

SHOWN_COLUMNS = 30  # columns in a terminal
DOTTED = 40  # steps up to which each has a marker


@text_of.register
def column_errors_text(errors: ColumnErrors, width: int = 80) -> str:
    """A line for each of the first columns."""
    rest = len(errors.rows) - SHOWN_COLUMNS
    more = [f"... and {rest:,} more; --by-variate has them"] if rest > 0 else []
    return "\n".join([*errors.lines(errors.rows[:SHOWN_COLUMNS]), *more])


@fragment_of.register
def column_errors_html(errors: ColumnErrors) -> str:
    """A row for each column."""
    rows = [(each.name, *each.cells) for each in errors.rows]
    return table(errors.headings, rows, numbers=range(1, len(errors.headings)))


@text_of.register
def step_errors_text(errors: StepErrors, width: int = 80) -> str:
    """A line for each of some steps, from the first to the last."""
    return "\n".join(errors.lines(errors.spread_rows()))


@drawing_of.register
def draw_step_errors(errors: StepErrors) -> Drawing:
    """Draw the mean error of each step ahead."""
    return Drawing((), lambda figure, _: _fill(figure, errors))


def _fill(figure: "Figure", errors: StepErrors) -> None:
    figure.set_size_inches(6.4, 2.8)
    axes = figure.add_subplot()
    steps = [int(each.name) for each in errors.rows]
    found = [each.mae for each in errors.rows]
    axes.plot(steps, found, color="#c8641e", marker="o" if len(steps) < DOTTED else "")
    axes.set_ylim(0, 1.08 * (max(found) or 1.0))
    axes.set_xlabel("steps ahead")
    axes.set_ylabel("mean |error|, standardised")
    axes.spines[["top", "right"]].set_visible(False)
