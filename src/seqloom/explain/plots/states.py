"""Sentences as points on a map, or as lists of neighbours in the terminal."""

from functools import partial

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.points import fill_points
from seqloom.drawing.views import drawing_of, text_of
from seqloom.explain.plots.terminal import truncate_line
from seqloom.explanations.plain_values import visible_label
from seqloom.explanations.states import NEAREST, StateMap, vector_map
from seqloom.prediction import ContextVectors

__all__ = ["draw_states", "draw_vectors", "states_text", "vectors_text"]

LONGEST = 36  # characters of a label


@text_of.register
def states_text(found: StateMap, width: int = 80) -> str:
    """Each sentence, and its nearest neighbours below it."""
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
    """Draw the sentences as points, coloured by label."""
    kinds = tuple(dict.fromkeys(label for label in found.labels if label is not None))
    sentences = tuple(_shorten(_one_line(text)) for text in found.texts)
    numbers = [None if label is None else kinds.index(label) for label in found.labels]
    axes = [f"{100 * share:.0f} % of the variance" for share in found.shares]
    return Drawing(
        (*sentences, *kinds), partial(fill_points, found.coordinates, numbers, axes), 130
    )


@text_of.register
def vectors_text(found: ContextVectors, width: int = 80) -> str:
    """Each word in its sentence, and below it those with the most similar vectors."""
    lines = []
    for each in found.occurrences:
        lines.append(truncate_line(_one_line(each.name), width))
        lines += [
            f"  {cosine:8.3f}  {truncate_line(_one_line(other), width - 12)}"
            for other, cosine in found.words.nearest(each.name, NEAREST)
        ]
    return "\n".join(lines)


@drawing_of.register
def draw_vectors(found: ContextVectors) -> Drawing:
    """Draw all words on a map."""
    return draw_states(vector_map(found))


def _one_line(text: str) -> str:
    """The text in one line, with printable control characters."""
    return " ".join(map(visible_label, text.split()))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
