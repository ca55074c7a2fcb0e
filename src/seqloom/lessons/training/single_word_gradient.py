"""A gradient from one randomly chosen output position."""

import torch
from torch import nn
from torch.nn import functional

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.units import Elman

__all__ = ["single_word_gradient_lesson"]


@lesson(
    "single-word-gradient", "Attention Models: backpropagation from one random word",
    chapter="training",
)  # fmt: skip
def single_word_gradient_lesson(*, length: int = 6, width: int = 4) -> LessonResult:
    """The gradient of one random position is, on average, the full one over the length."""
    unit = draw_module(lambda: Elman(3, width))
    readout = draw_module(lambda: nn.Linear(width, 5))
    inputs = draw_values(1, length, 3)
    targets = torch.arange(length) % 5
    weights = [*unit.parameters(), *readout.parameters()]

    def gradient(positions: list[int]) -> torch.Tensor:
        hidden, _ = unit(inputs, unit.zero_state(inputs))
        logits = readout(hidden[0, positions])
        cost = functional.cross_entropy(logits, targets[positions], reduction="sum")
        return torch.cat([each.flatten() for each in torch.autograd.grad(cost, weights)])

    full = gradient([*range(length)])
    each = torch.stack([gradient([t]) for t in range(length)])
    spread = float(each.std(dim=0).norm() / each.mean(dim=0).norm())
    return LessonResult(
        (
            ComparedNumber(
                "mean over positions against full / length", 0,
                largest_difference(each.mean(dim=0), full / length), by_hand=True,
            ),
            ComparedNumber("spread of single positions, relative", None, spread),
        ),
    )  # fmt: skip
