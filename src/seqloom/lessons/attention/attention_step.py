"""One step of attention: scores, stable softmax, context."""

import torch

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.attention import Attention, GeneralScore

__all__ = ["attention_step_lesson"]

CARE = "the maximum guards against overflow, not underflow: without it e^1000 is infinite, not 0"


@lesson(
    "attention-step", "Attention Models: attention, t = 0 to 3",
    "Attention Models: compute_context_with_attention", "EE 628: attention layer",
    chapter="attention",
)  # fmt: skip
@torch.no_grad()
def attention_step_lesson(
    *, positions: int = 4, width: int = 3, large: float = 1_000.0
) -> LessonResult:
    """e_i = h_i W s, w = softmax(e), context Σ w_i h_i; softmax with the maximum subtracted."""
    states, query = draw_values(1, positions, width), draw_values(1, 1, width, seed=2)
    attention = draw_module(lambda: Attention(GeneralScore(width, width)))
    source = attention.prepare(states, torch.ones(1, positions, dtype=torch.bool))
    context, weights = attention(query, source, torch.zeros(1, dtype=torch.int64))
    score = attention.score
    scores = states[0] @ score.get_parameter("map.weight").T @ query[0, 0]
    shares = (scores - scores.max()).exp()
    shares /= shares.sum()
    rows = [("i", "e_i", "w_i")]
    rows += [(str(i), f"{e:+.3f}", f"{w:.3f}") for i, (e, w) in
             enumerate(zip(scores.tolist(), shares.tolist(), strict=True))]  # fmt: skip
    big = torch.tensor([large, large - 1], dtype=torch.float64)
    naive = big.exp() / big.exp().sum()
    return LessonResult(
        (
            ComparedNumber("sum of the weights", 1, float(weights.sum()), 1e-12),
            ComparedNumber("weights against the module's", 0,
                           largest_difference(weights[0, 0], shares), by_hand=True),
            ComparedNumber("context against Σ w_i h_i", 0,
                           largest_difference(context[0, 0], shares @ states[0]), by_hand=True),
            ComparedNumber("softmax of 1000 and 999", 0.731059, float(big.softmax(0)[0]), 5e-7,
                           by_hand=True),
            ComparedNumber("e^1000, which is said to underflow", 0.0, float(big.exp()[0]),
                           care=CARE),
            ComparedNumber("is a weight without the maximum a number", "no",
                           "no" if naive.isnan().any() else "yes", by_hand=True),
        ),
        text_table(rows, right=(0, 1, 2)),
    )  # fmt: skip
