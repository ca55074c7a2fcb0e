"""Sentences as points on a map, or with their neighbours in the terminal."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.points import annotate_points
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.compute.plain_values import visible_label
from seqloom.explain.compute.states import StateMap
from seqloom.explain.plots.terminal import truncate_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_states", "states_text"]

MOST_LABELS = 80  # points that are labelled one by one, where no labels are given
LONGEST = 36  # characters of a label in a picture
COLOURS = 10


@text_of.register
def states_text(found: StateMap, width: int = 80) -> str:
    """Each sentence, and below it those that lie nearest."""
    lines = []
    for text, nearest in zip(found.texts, found.nearest_neighbors(), strict=True):
        lines.append(truncate_line(_one_line(text), width))
        lines += [
            f"  {distance:8.3f}  {truncate_line(_one_line(found.texts[other]), width - 12)}"
            for other, distance in nearest
        ]
    return "\n".join(lines)


@drawing_of.register
def draw_states(found: StateMap) -> Drawing:
    """Points with their sentences, in a colour for each label."""
    kinds = tuple(dict.fromkeys(label for label in found.labels if label is not None))
    sentences = tuple(_shorten(_one_line(text)) for text in found.texts)
    return Drawing((*sentences, *kinds), partial(_fill, found, kinds), 130)


def _one_line(text: str) -> str:
    """The text in one line, its control characters made visible."""
    return " ".join(map(visible_label, text.split()))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _fill(found: StateMap, kinds: Sequence[str], figure: "Figure", labels: Sequence[str]) -> None:
    sentences, shown = labels[: len(found.texts)], labels[len(found.texts) :]
    figure.set_size_inches(8, 6)
    axes = figure.add_subplot()
    numbers = {kind: number for number, kind in enumerate(kinds)}
    colours = [
        "#1f5fa8" if label is None else f"C{numbers[label] % COLOURS}" for label in found.labels
    ]
    axes.scatter(found.coordinates[:, 0], found.coordinates[:, 1], c=colours, s=18, zorder=3)
    for kind, number in numbers.items():
        axes.scatter([], [], color=f"C{number % COLOURS}", s=18, label=shown[kinds.index(kind)])
    if kinds:
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=6)
    names = [f"{100 * share:.0f} % of the variance" for share in found.shares] or ["", ""]
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[-1] if len(names) > 1 else "")
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(0.12)
    if len(sentences) <= MOST_LABELS:
        annotate_points(axes, found.coordinates, sentences)
