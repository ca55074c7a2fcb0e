"""Heads: contexts that are concatenated, or projected and summed."""

import torch

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.attention import Attention, DotScore, HeadProjections
from seqloom.nn.token_mixing import HeadSizes, SelfAttention

__all__ = ["attention_heads_lesson"]


@lesson(
    "attention-heads", "Attention Models: multihead extension", "Chapter 7: Figure 7.13, (7.26)",
    chapter="attention",
)  # fmt: skip
@torch.no_grad()
def attention_heads_lesson(*, width: int = 8, heads: int = 4, positions: int = 5) -> LessonResult:
    """Σ_h W_c^h u^h is one matrix times the concatenated contexts of the heads."""
    states = draw_values(1, positions, width)
    each = draw_module(lambda: HeadProjections(width, width, width=3, count=heads))
    several = Attention(DotScore(), heads=each)
    source = several.prepare(states, torch.ones(1, positions, dtype=torch.bool))
    contexts, _ = several(states[:, :1], source, torch.zeros(1, dtype=torch.int64))
    size = width // heads
    block = draw_module(lambda: SelfAttention(width, HeadSizes(heads, size, size)))
    output = block(states, None)
    query, key, value = block.queries_keys_values(states, torch.arange(positions)[None])
    total = torch.zeros_like(output)
    for head in range(heads):
        scores = query[0, :, head] @ key[0, :, head].T / size**0.5
        context = scores.softmax(dim=1) @ value[0, :, head]
        combine = block.combine.weight[:, head * size : (head + 1) * size]
        total += context @ combine.T
    return LessonResult(
        (
            ComparedNumber("size of [C^1 … C^N], shared values", heads * width, contexts.shape[2],
                           by_hand=True),
            ComparedNumber("sum over heads against the module", 0,
                           largest_difference(output, total), by_hand=True),
            ComparedNumber("W_c^h, p × m_v", (width, size), tuple(combine.shape)),
        ),
    )  # fmt: skip
