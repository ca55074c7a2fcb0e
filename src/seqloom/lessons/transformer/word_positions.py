"""Self-attention without positions ignores word order."""

import torch

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.positions import AddedSinusoids
from seqloom.nn.token_mixing import HeadSizes, SelfAttention, SimpleAttention

__all__ = ["word_positions_lesson"]


@lesson(
    "word-positions", "Chapter 7: deep learning, learning deep", "Chapter 7: Figure 7.12",
    chapter="transformer",
)  # fmt: skip
@torch.no_grad()
def word_positions_lesson(*, words: int = 2, width: int = 4) -> LessonResult:
    """“deep learning” and “learning deep” are the same to self-attention without positions."""
    text = draw_values(1, words, width)
    learned = draw_module(lambda: SelfAttention(width, HeadSizes(2, 3, 3)))
    at, positions = torch.arange(words)[None], AddedSinusoids()
    numbers = []
    for name, attend in (("simple", SimpleAttention()), ("with W_q, W_k, W_v", learned)):
        plain = largest_difference(attend(text.flip(1), None).flip(1), attend(text, None))
        numbers.append(ComparedNumber(f"{name}: effect of the order", 0, plain, by_hand=True))
    outputs = [learned(positions(each, at), None) for each in (text, text.flip(1))]
    change = largest_difference(outputs[0], outputs[1].flip(1))
    return LessonResult(
        (*numbers, ComparedNumber("with positions, does it matter", "yes",
                                  "yes" if change else "no")),
    )  # fmt: skip
