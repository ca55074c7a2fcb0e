"""The mean of the cross-entropies of all steps."""

import math

import torch
from torch.nn import functional

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table

__all__ = ["cross_entropy_lesson"]

CARE = "the minus sign is missing where the copy at hand prints it: a cost is not negative"


@lesson(
    "cross-entropy", "Chapter 7: (7.4) and (7.5)", "Attention Models: loss of a language model",
    chapter="training",
)  # fmt: skip
def cross_entropy_lesson(
    *, probabilities: tuple[float, ...] = (0.5, 0.25, 0.8, 0.1, 0.4)
) -> LessonResult:
    """Only the probability of the target counts at a step; the cost is their mean −log."""
    costs = [-math.log(each) for each in probabilities]
    mean = sum(costs) / len(costs)
    rest = torch.tensor(probabilities, dtype=torch.float64)
    logits = torch.stack([rest, 1 - rest], dim=1).log()
    found = float(functional.cross_entropy(logits, torch.zeros(len(costs), dtype=torch.int64)))
    rows = [("t", "p of the target", "−log p")]
    pairs = zip(probabilities, costs, strict=True)
    rows += [(str(t), f"{p:.2f}", f"{cost:.4f}") for t, (p, cost) in enumerate(pairs, 1)]
    whole = math.exp(-sum(costs))
    return LessonResult(
        (
            ComparedNumber("mean of −log p", mean, found, 1e-12, by_hand=True),
            ComparedNumber("the same without its sign", -mean, found, care=CARE, by_hand=True),
            ComparedNumber(
                "product of the five", math.prod(probabilities), whole, 1e-12, by_hand=True
            ),
        ),
        text_table(rows, right=(0, 1, 2)),
    )
