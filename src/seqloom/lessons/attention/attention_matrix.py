"""The attention weights of a translation, as printed in the text and as a picture."""

import numpy as np

from seqloom.explain import AttentionMap
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson

__all__ = ["attention_matrix_lesson"]

SOURCE = ("we", "love", "deep", "learning", "<stop>")
TARGET = ("nous", "aimons", "l'", "apprentissage", "en", "profondeur", "<stop>")
WEIGHTS = (
    (0.93, 0.02, 0.01, 0.02, 0.02),
    (0.44, 0.46, 0.04, 0.05, 0.01),
    (0.23, 0.26, 0.23, 0.25, 0.03),
    (0.01, 0.04, 0.45, 0.47, 0.03),
    (0.01, 0.02, 0.39, 0.55, 0.03),
    (0.02, 0.01, 0.67, 0.28, 0.02),
    (0.01, 0.01, 0.01, 0.01, 0.96),
)


@lesson(
    "attention-matrix", "Chapter 7: Figure 7.11",
    chapter="attention",
)  # fmt: skip
def attention_matrix_lesson() -> LessonResult:
    """Attention weights of a translation as a picture: each of seven rows sums to 1."""
    weights = np.array(WEIGHTS)
    sums = tuple(round(float(each), 12) for each in weights.sum(axis=1))
    chosen = [SOURCE[int(each)] for each in weights.argmax(axis=1)]
    return LessonResult(
        (
            ComparedNumber("rows and columns", (7, 5), weights.shape),
            ComparedNumber("sum of each row", (1,) * 7, sums, 1e-12),
            ComparedNumber("profondeur attends most to", "deep", chosen[5]),
            ComparedNumber("apprentissage attends most to", "learning", chosen[3]),
        ),
        view=AttentionMap(SOURCE, TARGET, weights),
    )
