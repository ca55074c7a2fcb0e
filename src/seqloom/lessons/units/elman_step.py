"""The simplest unit, computed by hand."""

import torch

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.units import Elman

__all__ = ["elman_step_lesson"]


@lesson("elman-step", "NLP 7: Elman network (S-RNN)", "Chapter 7: Figure 7.4", chapter="units")
def elman_step_lesson(*, inputs: int = 2, width: int = 3, steps: int = 4) -> LessonResult:
    """One affine map of state and input, and an activation: s_i = g(s W^s + x W^x + b)."""
    unit = draw_module(lambda: Elman(inputs, width))
    read = draw_values(1, steps, inputs)
    found, _ = unit(read, unit.zero_state(read))
    state = torch.zeros(width, dtype=torch.float64)
    by_hand = []
    for x in read[0]:
        state = torch.tanh(state @ unit.recur.T + x @ unit.project.weight.T + unit.project.bias)
        by_hand.append(state)
    matrices = (unit.project.weight.T, unit.recur.T)
    return LessonResult(
        (
            ComparedNumber("W^x, d_in × d_s", (inputs, width), tuple(matrices[0].shape)),
            ComparedNumber("W^s, d_s × d_s", (width, width), tuple(matrices[1].shape)),
            ComparedNumber(
                "difference from the equation", 0,
                largest_difference(found[0], torch.stack(by_hand)), by_hand=True,
            ),
        ),
    )  # fmt: skip
