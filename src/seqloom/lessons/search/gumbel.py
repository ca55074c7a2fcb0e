"""Sampling as an argmax with Gumbel noise, and its frequencies."""

import math

import torch

from seqloom.demos.homophones import HOMOPHONES
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.training.scheduled_sampling import gumbel_noise

__all__ = ["gumbel_lesson"]


@lesson(
    "gumbel", "Attention Models: random sampling", "Attention Models: Gumbel noise",
    chapter="search",
)  # fmt: skip
def gumbel_lesson(*, draws: int = 100_000, temperature: float = 0.5) -> LessonResult:
    """The argmax of log p plus Gumbel noise is a draw from p, and a softmax makes it smooth."""
    after = HOMOPHONES["he",]
    chances = torch.tensor([*after.values()], dtype=torch.float64)
    logs = chances.log()
    places = torch.arange(draws)

    noisy = logs + gumbel_noise(places, len(logs))
    shares = torch.bincount(noisy.argmax(dim=1), minlength=len(after)) / draws
    smooth = (noisy[:1] / temperature).softmax(dim=1)[0]
    rows = [("word", "p", "share of the draws", "one draw, smooth")]
    for word, p, share, part in zip(after, chances, shares, smooth, strict=True):
        rows.append((word, f"{p:.2f}", f"{share:.4f}", f"{part:.3f}"))
    error = float((shares - chances).abs().max())
    bound = 4 * math.sqrt(0.25 / draws)
    return LessonResult(
        (
            ComparedNumber("share of nose", 0.5, float(shares[0]), bound, by_hand=True),
            ComparedNumber("share of knows", 0.4, float(shares[1]), bound, by_hand=True),
            ComparedNumber("largest error", None, error),
        ),
        text_table(rows, right=(1, 2, 3)),
    )
