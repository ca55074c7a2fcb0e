"""Cosine similarities of word vectors."""

import numpy as np

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table

__all__ = ["cosines_lesson"]

CARE = (
    "the copy of the text at hand shows no minus signs, and its numbers give this; with those of "
    "king's fourth value and of mean's first two they give .729, −.040 and .156"
)
KING, QUEEN, MEAN = (0.41, 1.2, 3.4, 1.3), (0.39, 1.1, 3.5, 1.6), (0.2, 3.2, 1.3, 0.8)


@lesson("cosines", "Chapter 7: word embedding example, cosine similarity", chapter="units")
def cosines_lesson(
    *,
    king: tuple[float, ...] = (0.41, 1.2, 3.4, -1.3),
    queen: tuple[float, ...] = QUEEN,
    mean: tuple[float, ...] = (-0.2, -3.2, 1.3, 0.8),
) -> LessonResult:
    """How alike king, queen and mean are, by the cosines of their vectors."""
    rows = [(name, *(f"{value:+.2f}" for value in each)) for name, each in
            (("king", king), ("queen", queen), ("mean", mean))]  # fmt: skip
    return LessonResult(
        (
            ComparedNumber("king and queen", 0.729, _cosine(king, queen), 5e-4),
            ComparedNumber("king and mean, in size", 0.04, abs(_cosine(king, mean)), 5e-4),
            ComparedNumber("queen and mean", 0.156, _cosine(queen, mean), 5e-4),
            ComparedNumber("king and queen, as printed", 0.729, _cosine(KING, QUEEN), care=CARE),
            ComparedNumber("king and mean, as printed", 0.04, _cosine(KING, MEAN), care=CARE),
            ComparedNumber("queen and mean, as printed", 0.156, _cosine(QUEEN, MEAN), care=CARE),
        ),
        text_table(rows, right=(1, 2, 3, 4)),
    )


def _cosine(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    a, b = np.array(first), np.array(second)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
