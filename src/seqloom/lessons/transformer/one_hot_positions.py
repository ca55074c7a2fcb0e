"""One-hot positions appended to a token's vector."""

import torch

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.positions import OneHotPositions

__all__ = ["one_hot_positions_lesson"]


@lesson("one-hot-positions", "Chapter 7: one-hot positional embedding", chapter="transformer")
def one_hot_positions_lesson(
    *, vector: tuple[float, ...] = (0.2, 1.3), length: int = 4
) -> LessonResult:
    """The same word at t = 1 and t = 4 becomes two vectors of p + T values."""
    encode = OneHotPositions(length)
    token = torch.tensor(vector, dtype=torch.float64)
    rows = encode(token.expand(1, length, -1), torch.arange(length)[None])[0]
    return LessonResult(
        (
            ComparedNumber("at t = 1", (0.2, 1.3, 1, 0, 0, 0), tuple(rows[0].tolist())),
            ComparedNumber("at t = 4", (0.2, 1.3, 0, 0, 0, 1), tuple(rows[-1].tolist())),
            ComparedNumber("size p + T", 6, rows.shape[1]),
        ),
    )
