"""Padding texts to one length with `<empty>`, which has no cost."""

import numpy as np
import torch
from torch import Tensor

from seqloom.fields import EMPTY
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.small_models import recurrent_model
from seqloom.lessons.text_table import text_table
from seqloom.model import SequenceModel, Source
from seqloom.prediction.batching import pad_batch
from seqloom.training import Example, measure

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
        full = np.arange(EMPTY + 1, EMPTY + 1 + length, dtype=np.int32)  # makes the batch this long
        padded = pad_batch([full[: len(words)], full]).values[0]
        names = [words[each - EMPTY - 1] if each != EMPTY else "<empty>" for each in
                 padded.tolist()]  # fmt: skip
        empty.append(names.count("<empty>"))
        rows.append((name, *names))
    model = recurrent_model("b", words=2 * length + 5)
    costs = [_cost(model, row) for row in (padded, padded[padded.ne(EMPTY)])]
    return LessonResult(
        (
            ComparedNumber("symbols and <empty> of the input", (5, 4), (length - empty[0],
                           empty[0])),
            ComparedNumber("symbols and <empty> of the output", (7, 2), (length - empty[1],
                           empty[1])),
            ComparedNumber("cost of the padding", 0, abs(costs[0] - costs[1]), 1e-12),
        ),
        text_table(rows),
    )  # fmt: skip


def _cost(model: SequenceModel, target: Tensor) -> float:
    """The summed cost of a padded target, as computed in training."""
    source = Source(target[:1][None].long(), torch.tensor([1]))
    return measure(model, Example(source, target[None].long()), smoothing=0.0).loss
