"""Truncated backpropagation through time, and gradient clipping."""

import torch
from torch import Tensor

from seqloom.lessons.draws import draw_module, draw_values
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman

__all__ = ["truncation_lesson"]


@lesson(
    "truncation", "Chapter 7: gradient clipping and truncated backpropagation",
    "EE 628: detaching the gradient", chapter="training",
)  # fmt: skip
def truncation_lesson(*, length: int = 24, width: int = 4, norm: float = 0.1) -> LessonResult:
    """A longer window brings the truncated gradient closer to the full one."""
    unit = draw_module(lambda: Elman(2, width))
    inputs = draw_values(1, length, 2)
    full = _gradient(unit, inputs, length)
    rows, errors = [("window", "relative error")], []
    for window in (1, 2, 4, 8, 12, length):
        errors.append(float((_gradient(unit, inputs, window) - full).norm() / full.norm()))
        rows.append((str(window), f"{errors[-1]:.4f}"))
    clipped = unit.recur
    clipped.grad = full.clone()
    torch.nn.utils.clip_grad_norm_([clipped], norm)
    direction = torch.nn.functional.cosine_similarity(clipped.grad.flatten(), full.flatten(), dim=0)
    return LessonResult(
        (
            ComparedNumber("error of the whole window", 0, round(errors[-1], 12), by_hand=True),
            ComparedNumber("is window 8 closer than window 1", "yes",
                           "yes" if errors[3] < errors[0] else "no"),
            ComparedNumber("norm after clipping", norm, float(clipped.grad.norm()), 1e-4,
                           by_hand=True),
            ComparedNumber("cosine of clipped and full", 1, float(direction), 1e-9, by_hand=True),
        ),
        text_table(rows, right=(0, 1)),
    )  # fmt: skip


def _gradient(unit: Elman, inputs: Tensor, window: int) -> Tensor:
    """The gradient of the mean square of all states by W, for each window separately."""
    state, total = unit.zero_state(inputs), torch.zeros_like(unit.recur)
    for begin in range(0, inputs.shape[1], window):
        hidden, (states,) = unit(inputs[:, begin : begin + window], state)
        (part,) = torch.autograd.grad(hidden.square().sum() / inputs.shape[1], unit.recur)
        total += part
        state = (states[:, -1].detach(),)
    return total
