"""The sign of the update in incremental gradient descent."""

import torch

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson

__all__ = ["descent_sign_lesson"]

CARE = "line 9 adds η times the gradient, which climbs; the update is −η times it"


@lesson("descent-sign", "ML:IX: algorithm IGD_c2seq, the update", chapter="training")
def descent_sign_lesson(*, weight: float = 0.0, rate: float = 0.1) -> LessonResult:
    """One update of (w − 1)²/2 from w = 0: the loss must fall from .5."""
    w = torch.tensor(weight, dtype=torch.float64, requires_grad=True)
    loss = (w - 1) ** 2 / 2
    loss.backward()
    gradient = 0.0 if w.grad is None else float(w.grad)
    torch.optim.SGD([w], lr=rate).step()
    after = ((w - 1) ** 2 / 2).item()
    literal = (weight + rate * gradient - 1) ** 2 / 2
    return LessonResult(
        (
            ComparedNumber("loss before", 0.5, loss.item(), 1e-12, by_hand=True),
            ComparedNumber("after W + η ∂C/∂W, as printed", literal, after, care=CARE,
                           by_hand=True),
            ComparedNumber("after W − η ∂C/∂W", 0.405, after, 1e-12, by_hand=True),
        ),
    )  # fmt: skip
