"""The gradient of a linear net as a sum over steps, and its index."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.training.backpropagation import ScalarNet

__all__ = ["closed_form_gradient_lesson"]

CARE = "the sum has h_j, where the derivative of w h_{j−1} by w is h_{j−1}"


@lesson(
    "closed-form-gradient", "EE 628: gradients of the linear model",
    chapter="training",
)  # fmt: skip
def closed_form_gradient_lesson(
    *, w: float = 0.5, inputs: tuple[float, ...] = (1.0, 2.0, 3.0)
) -> LessonResult:
    """∂h_T/∂w as a sum over steps, beside a finite difference and autograd."""
    net = ScalarNet(w, inputs)
    states, last = net.states(), len(inputs)
    printed = sum(w ** (last - j) * states[j] for j in range(1, last + 1))
    right = sum(w ** (last - j) * states[j - 1] for j in range(1, last + 1))
    rows: list[tuple[str, ...]] = [
        ("j", "h_j", "w^(T−j)", "times h_j, as printed", "times h_(j−1)")
    ]
    for j in range(1, last + 1):
        power = w ** (last - j)
        values = (states[j], power, power * states[j], power * states[j - 1])
        rows.append((str(j), *(f"{value:.4f}" for value in values)))
    step = 1e-6
    difference = ScalarNet(w + step, inputs).states()[-1] - ScalarNet(w - step, inputs).states()[-1]
    unit, hidden = net.hidden()
    hidden[0, -1, 0].backward()
    found = 0.0 if unit.recur.grad is None else float(unit.recur.grad.item())
    return LessonResult(
        (
            ComparedNumber("sum as printed", printed, right, care=CARE, by_hand=True),
            ComparedNumber("sum with h_(j−1)", right, found, 1e-12, by_hand=True),
            ComparedNumber("finite difference", right, difference / (2 * step), 1e-6, by_hand=True),
        ),
        text_table(rows, right=range(5)),
    )
