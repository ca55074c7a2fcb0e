"""A GRU with its gates open and closed, in both conventions."""

import torch
from torch import Tensor

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.units import Gru, UpdateConvention

__all__ = ["gru_limits_lesson"]

OPEN, CLOSED = 1e3, -1e3
CARE = "an open reset gate is not enough: the old state is still mixed in unless Z = 0 too"


@lesson("gru-limits", "EE 628: GRU slides", "Chapter 7: Figure 7.8 (b), GRU", chapter="gates")
def gru_limits_lesson(*, inputs: int = 3, width: int = 4) -> LessonResult:
    """Gates at their limits make a GRU a plain unit, a copy, or blind to the past."""
    x, past = draw_values(1, 1, inputs), draw_values(1, width, seed=2)
    other = draw_values(1, width, seed=3)
    unit = _gru(inputs, width, "keep")
    candidate = unit.recurrent_matrices()["candidate"]
    projected = x[0] @ unit.project.weight[2 * width :].T + unit.project.bias[2 * width :]
    elman = torch.tanh(projected + past @ candidate.T)
    plain = _step(unit, x, past, reset=OPEN, update=CLOSED)
    half = _step(unit, x, past, reset=OPEN)
    blind = [_step(unit, x, each, reset=CLOSED, update=CLOSED) for each in (past, other)]
    copied = _step(unit, x, past, update=OPEN)
    take = _gru(inputs, width, "take")
    opposed = _step(take, x, past, update=OPEN), _step(unit, x, past, update=CLOSED)
    return LessonResult(
        (
            ComparedNumber("square matrices W_hh", 3, len(unit.recurrent_matrices())),
            ComparedNumber("R = 1, Z = 0 against a tanh unit", 0,
                           largest_difference(plain, elman), by_hand=True),
            ComparedNumber("R = 1 alone against a tanh unit", 0,
                           largest_difference(half, elman), care=CARE),
            ComparedNumber("R = 0, Z = 0: effect of the old state", 0,
                           largest_difference(*blind), by_hand=True),
            ComparedNumber("Z = 1 against the old state", 0, largest_difference(copied, past),
                           by_hand=True),
            ComparedNumber("g_u = 1 of one text, Z = 0 of the other", 0,
                           largest_difference(*opposed), by_hand=True),
        ),
        "H = Z ⊙ H_before + (1 − Z) ⊙ H̃ in one text, h = (1 − g_u) ⊙ h_before + g_u ⊙ h̃ in the"
        " other",
    )  # fmt: skip


def _gru(inputs: int, width: int, update: UpdateConvention) -> Gru:
    return draw_module(lambda: Gru(inputs, width, update=update))


@torch.no_grad()
def _step(
    unit: Gru, x: Tensor, past: Tensor, *, reset: float | None = None, update: float | None = None
) -> Tensor:
    """The state after one step, with gates forced to their limits by their biases."""
    bias, width = unit.project.bias, unit.width
    before = bias.clone()
    if reset is not None:
        bias[:width] = reset
    if update is not None:
        bias[width : 2 * width] = update
    hidden: Tensor = unit(x, (past,))[0]
    bias.copy_(before)
    return hidden[:, 0]
