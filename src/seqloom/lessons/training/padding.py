"""Texts of one length by `<empty>`, which costs nothing."""

import torch
from torch.nn import functional

from seqloom.fields import EMPTY
from seqloom.lessons.draws import draw_values
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table

__all__ = ["padding_lesson"]

PAIR = (
    ("input", "we love deep learning <stop>"),
    ("output", "nous aimons l' apprentissage en profondeur <stop>"),
)


@lesson(
    "padding", "Chapter 7: Section 7.5, padding",
    "ML:IX: comparison of sequences of unequal length", chapter="training",
)  # fmt: skip
def padding_lesson(*, length: int = 9) -> LessonResult:
    """Both sides get nine symbols; what is empty on both sides costs nothing."""
    rows, empty = [], []
    for name, text in PAIR:
        words = text.split()
        empty.append(length - len(words))
        rows.append((name, *words, *["<empty>"] * empty[-1]))
    logits = draw_values(length, 6)
    targets = torch.tensor([1, 2, 3, 4, 5, 1, 2, EMPTY, EMPTY][:length])
    padded = functional.cross_entropy(logits, targets, ignore_index=EMPTY, reduction="sum")
    real = targets.ne(EMPTY)
    alone = functional.cross_entropy(logits[real], targets[real], reduction="sum")
    return LessonResult(
        (
            ComparedNumber("symbols and <empty> of the input", (5, 4), (length - empty[0],
                           empty[0])),
            ComparedNumber("symbols and <empty> of the output", (7, 2), (length - empty[1],
                           empty[1])),
            ComparedNumber("cost of the padding", 0, float((padded - alone).abs()), 1e-12),
        ),
        text_table(rows),
    )  # fmt: skip
