"""Masking the scores, not the keys."""

import math

import torch

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table

__all__ = ["mask_scores_lesson"]

CARE = "a key of −∞ times a query of either sign is −∞, +∞ or no number; mask the scores instead"


@lesson("mask-scores", "Chapter 7: (7.27), masking", chapter="transformer")
def mask_scores_lesson(*, query: tuple[float, ...] = (-1.0, 2.0)) -> LessonResult:
    """−∞ belongs into the scores: in the keys it gives weights that are no numbers."""
    keys = torch.tensor([[0.5, 1.0], [1.5, -0.5]])
    q = torch.tensor(query)
    masked = torch.where(torch.tensor([True, False]), keys @ q, torch.tensor(-math.inf))
    broken = keys.clone()
    broken[1] = -math.inf
    weights, wrong = masked.softmax(0), (broken @ q).softmax(0)
    rows = [
        ("scores masked", *(f"{each:.3f}" for each in weights.tolist())),
        ("keys masked", *(f"{each:.3f}" for each in wrong.tolist())),
    ]
    return LessonResult(
        (
            ComparedNumber("weights, scores masked", (1, 0), tuple(weights.tolist()), 1e-7,
                           by_hand=True),
            ComparedNumber("weight of the masked word, keys masked", 0, str(float(wrong[1])),
                           care=CARE),
        ),
        text_table(rows, right=(1, 2)),
    )  # fmt: skip
