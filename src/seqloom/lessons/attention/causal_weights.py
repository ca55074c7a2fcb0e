"""Causal attention needs a separate softmax for each step."""

import torch

from seqloom.lessons.draws import draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.attention import Attention, DotScore

__all__ = ["causal_weights_lesson"]

CARE = "a causal sum over the full softmax does not add up to 1; renormalize as in (7.23)"
MASK = "the denominators of (7.25) and (7.33) stop at t; they run to T where nothing is masked"


@lesson(
    "causal-weights", "Chapter 7: (7.20) and (7.21)", "Chapter 7: (7.25), denominators",
    chapter="attention",
)  # fmt: skip
@torch.no_grad()
def causal_weights_lesson(*, length: int = 4) -> LessonResult:
    """With equal scores the causal weights of step t are 1/t each, and sum to 1."""
    values = draw_values(1, length, 2)
    attention = Attention(DotScore(), causal=True)
    source = attention.prepare(values, torch.ones(1, length, dtype=torch.bool))
    queries = torch.zeros(1, length, 2, dtype=torch.float64)
    contexts, weights = attention(queries, source, torch.zeros(1, dtype=torch.int64))
    full = torch.full((length, length), 1 / length).tril().sum(dim=1)
    short = length / torch.arange(1, length + 1)
    rows = [(str(t), " ".join(f"{each:.2f}" for each in row))
            for t, row in enumerate(weights[0].tolist(), 1)]  # fmt: skip
    sums = tuple(float(each) for each in weights[0].sum(dim=1))
    free = Attention(DotScore())(queries, source, torch.zeros(1, dtype=torch.int64))[1]
    whole = tuple(round(float(each), 12) for each in free[0].sum(dim=1))
    return LessonResult(
        (
            ComparedNumber("sums of causal weights", (1,) * length, sums, 1e-12, by_hand=True),
            ComparedNumber("u_1 against v_1", 0, largest_difference(contexts[0, 0], values[0, 0]),
                           by_hand=True),
            ComparedNumber("sums with the full softmax", tuple(full.tolist()), sums, care=CARE,
                           by_hand=True),
            ComparedNumber("sums, not causal, denominator to t",
                           tuple(round(float(each), 2) for each in short),
                           whole, care=MASK, by_hand=True),
        ),
        "weights by step, all scores equal\n" + text_table(rows),
    )  # fmt: skip
