"""Score functions, and two that are equivalent."""

import torch

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.attention import AdditiveScore, ConcatScore, ScaledDotScore

__all__ = ["score_functions_lesson"]

CARE = "v multiplies a vector of size h, so it has h values, not p"


@lesson(
    "score-functions", "Chapter 7: variants of the score function",
    "EE 628: dot-product and MLP attention", chapter="attention",
)  # fmt: skip
@torch.no_grad()
def score_functions_lesson(
    *, query: int = 3, key: int = 4, inner: int = 5, queries: int = 2, keys: int = 6
) -> LessonResult:
    """Concatenation is the additive score with W = [W_a W_b]; dot products are scaled by √d."""
    q, k = draw_values(1, queries, query), draw_values(1, keys, key, seed=2)
    additive = draw_module(lambda: AdditiveScore(query, key, inner))
    joined = draw_module(lambda: ConcatScore(query, key, inner), seed=2)
    halves = [additive.from_query.weight, additive.from_key.weight]
    joined.map.weight.copy_(torch.cat(halves, dim=1))
    joined.weigh.weight.copy_(additive.weigh.weight)
    first = additive.compare(q, additive.prepare(k))
    second = joined.compare(q, joined.prepare(k))
    same = draw_values(1, keys, query, seed=3)
    scaled = ScaledDotScore(factor=query**-0.5)
    dots = scaled.compare(q, scaled.prepare(same))
    by_hand = q @ same.transpose(1, 2) / query**0.5
    return LessonResult(
        (
            ComparedNumber("concatenation against additive", 0, largest_difference(first, second),
                           by_hand=True),
            ComparedNumber("size of W = [W_a W_b]", (inner, query + key),
                           tuple(joined.map.weight.shape)),
            ComparedNumber("Q Kᵀ/√d, m × n", (queries, keys), tuple(dots.shape[1:])),
            ComparedNumber("Q Kᵀ/√d against the module", 0, largest_difference(dots, by_hand),
                           by_hand=True),
            ComparedNumber("size of v in MLP attention", "p", f"h = {additive.weigh.in_features}",
                           care=CARE),
        ),
    )  # fmt: skip
