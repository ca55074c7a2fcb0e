"""Attributions: the parts with the largest weights in the terminal, tables as pictures."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.tables import fill_rows, fill_tables
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.terminal import terminal_label, truncate_line
from seqloom.explanations.attribution import METHODS, Attribution, future_mask
from seqloom.explanations.media import AttributionView
from seqloom.explanations.plain_values import tick_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["attribution_text", "draw_view", "output_label", "view_text"]

LEAST = 0.005  # smallest value listed in the terminal: nats, or a share of the largest
LONGEST = 28  # cells of a name in the terminal
SHOWN = 4  # parts listed per method


@text_of.register
def attribution_text(found: Attribution, width: int = 80) -> str:
    """For each output, the parts to which each method attributes most."""
    names = (*found.source, *(f"({name})" for name in found.inputs))
    lines = []
    for row, token in enumerate(found.target):
        value = found.scores[row]
        size = (
            f"p {np.exp(value):.3f}"
            if found.is_log_probability
            else f"{found.quantity} {value:.4g}"
        )
        lines.append(f"{terminal_label(token)}  {size}")
        for name, table in found.tables().items():
            words = _top_parts(found, names, table[row])
            lines.append(truncate_line(f"  {METHODS[name]:<21}{words}", width))
    lines += ["", "rank correlation with erasure"]
    lines += [f"  {METHODS[name]:<21}{value:.2f}" for name, value in found.agreement().items()]
    off = np.abs(found.convergence_delta).max()
    unit = " nats" if found.is_log_probability else ""
    lines.append(f"integrated gradients: {found.points} points, {off:.3f}{unit} off at most")
    if found.inputs:
        lines.append("in brackets: what the model had written before")
    return "\n".join(lines)


def _top_parts(found: Attribution, names: tuple[str, ...], row: np.ndarray) -> str:
    """The parts with the largest values, in order."""
    least = LEAST if found.is_log_probability else LEAST * float(np.abs(row).max())
    order = np.argsort(-np.abs(row), kind="stable")[:SHOWN]
    parts = [
        f"{_part_name(names[i])} {row[i]:{'+.2f' if found.is_log_probability else '+.3g'}}"
        for i in order
        if abs(row[i]) > least
    ]
    return "  ".join(parts) or f"none counts for {LEAST} or more"


def _part_name(part: str) -> str:
    """A part's name for a terminal, without the spaces between words."""
    label = terminal_label(part, LONGEST)
    return label.replace("␣", " ") if part == part.strip() else label


@text_of.register
def view_text(view: AttributionView, width: int = 80) -> str:
    """The parts with the largest values by each method."""
    return attribution_text(view.attribution, width)


@drawing_of.register
def draw_view(view: AttributionView) -> Drawing:
    """Draw a map for each method, side by side; blue is for the output, red against it."""
    found = view.attribution
    labels = tuple(map(tick_label, (*found.source, *found.inputs, *found.target)))
    return Drawing(labels, partial(_fill_symbols, found), 110)


def _fill_symbols(found: Attribution, figure: "Figure", labels: Sequence[str]) -> None:
    count = len(found.source) + len(found.inputs)
    columns, rows = labels[:count], labels[count:]
    if len(found.target) == 1:
        tables = {METHODS[name]: table for name, table in found.tables().items()}
        fill_rows(figure, tables, columns, output_label(found, 0, rows[0]))
        return
    hidden = future_mask(found)
    tables = {
        METHODS[name]: np.ma.masked_where(hidden, table) for name, table in found.tables().items()
    }
    fill_tables(figure, tables, columns, rows, source=len(found.source))


def output_label(found: Attribution, row: int, label: str) -> str:
    """An output with its explained quantity."""
    value = found.scores[row]
    if found.is_log_probability:
        return f"{label}  p {np.exp(value):.3f}"
    return label if label == f"{value:.6g}" else f"{label}  {found.quantity} {value:.4g}"
