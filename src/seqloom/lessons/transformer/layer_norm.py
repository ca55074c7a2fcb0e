"""A block of a Transformer in four steps."""

import torch
from torch import Tensor

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.small_models import transformer_model

__all__ = ["layer_norm_lesson"]


@lesson(
    "layer-norm", "Chapter 7: Figure 7.15 (a), (7.31)", chapter="transformer"
)  # fmt: skip
@torch.no_grad()
def layer_norm_lesson(*, width: int = 6, epsilon: float = 1e-5) -> LessonResult:
    """Layer norm is per position over the features, with the variance over p, not p − 1."""
    values = draw_values(2, 3, width)
    norm = draw_module(lambda: torch.nn.LayerNorm(width, eps=epsilon))
    found = norm(values)
    return LessonResult(
        (
            ComparedNumber("against (z − μ)/√(σ² + ε)", 0,
                           largest_difference(found, _normalize(values, epsilon)), by_hand=True),
            ComparedNumber("mean of a position", 0, round(float(found[0, 0].mean()), 9),
                           by_hand=True),
            ComparedNumber("variance of a position, over p", 1,
                           float(found[0, 0].var(unbiased=False)), 1e-3, by_hand=True),
            ComparedNumber("norms in a decoder's block", 3, _norms(), by_hand=True),
        ),
    )  # fmt: skip


def _normalize(values: Tensor, epsilon: float) -> Tensor:
    mean = values.mean(dim=-1, keepdim=True)
    variance = (values - mean).square().mean(dim=-1, keepdim=True)
    return (values - mean) / (variance + epsilon).sqrt()


def _norms() -> int:
    block = transformer_model().decoder.get_submodule("blocks.0")
    return sum(isinstance(part, torch.nn.LayerNorm) for part in block.modules())
