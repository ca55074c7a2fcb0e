"""The Jacobian of a state with respect to the previous state, and its input."""

import torch

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.units import Elman

__all__ = ["state_jacobian_lesson"]

CARE = "(7.11) evaluates the slope with x_t, but h_(t+1) is computed from x_(t+1)"


@lesson("state-jacobian", "Chapter 7: (7.11)", chapter="training")
def state_jacobian_lesson(
    *, w: float = 0.8, inputs: tuple[float, ...] = (0.5, -1.0, 2.0), t: int = 2
) -> LessonResult:
    """∂h_{t+1}/∂h_t of a tanh unit takes the input of step t + 1."""
    unit = Elman(1, 1, bias=False).double()
    with torch.no_grad():
        unit.recur.fill_(w)
        unit.project.weight.fill_(1.0)
    read = torch.tensor(inputs, dtype=torch.float64)[None, :, None]
    states, _ = unit(read[:, :t], unit.zero_state(read))
    state = states[:, -1].detach().requires_grad_()
    after, _ = unit(read[:, t : t + 1], (state,))
    (found,) = torch.autograd.grad(after.sum(), state)
    with_next = w * (1 - torch.tanh(w * state + read[:, t]) ** 2)
    with_own = w * (1 - torch.tanh(w * state + read[:, t - 1]) ** 2)
    return LessonResult(
        (
            ComparedNumber(
                "with x_(t+1), against autograd", float(with_next.item()), float(found.item()),
                1e-12, by_hand=True,
            ),
            ComparedNumber(
                "with x_t", float(with_own.item()), float(found.item()), care=CARE, by_hand=True
            ),
        ),
    )  # fmt: skip
