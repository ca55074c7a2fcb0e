"""A one-hot vector times a matrix is one of its rows."""

import torch

from seqloom.fields import Symbols
from seqloom.lessons.draws import draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson

__all__ = ["one_hot_lookup_lesson"]


@lesson(
    "one-hot-lookup", "Attention Models: language modelling, words projected",
    "Chapter 7: forms of sequence data", chapter="units",
)  # fmt: skip
def one_hot_lookup_lesson(
    *, words: int = 40_000, width: int = 4, text: tuple[int, ...] = (8, 5, 2, 6, 1, 3)
) -> LessonResult:
    """A vector of 40,000 entries with a single 1 picks a row of the projection: an embedding."""
    matrix = draw_values(words, width)
    places = torch.tensor(text) - 1
    vectors = torch.zeros(len(text), words, dtype=torch.float64)
    vectors[torch.arange(len(text)), places] = 1.0
    return LessonResult(
        (
            ComparedNumber("entries of a vector, d_V", 40_000, vectors.shape[1]),
            ComparedNumber("of them not zero", 1, int(vectors[0].count_nonzero()), by_hand=True),
            ComparedNumber("e_i P against row i of P", 0,
                           largest_difference(vectors @ matrix, matrix[places]), by_hand=True),
            ComparedNumber("distance of any two one-hot vectors", 2**0.5,
                           float((vectors[0] - vectors[1]).norm()), 1e-12, by_hand=True),
            ComparedNumber("rows of the table of such a model", words,
                           Symbols(words).table_size, by_hand=True),
        ),
    )  # fmt: skip
