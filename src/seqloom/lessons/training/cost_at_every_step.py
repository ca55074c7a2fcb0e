"""A cost at every step: the recursion as printed, and the correct one."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.training.backpropagation import PRINTED_RECURSION, ScalarNet

__all__ = ["cost_at_every_step_lesson"]


@lesson("cost-at-every-step", "Chapter 7: (7.6) to (7.10)", chapter="training")
def cost_at_every_step_lesson(
    *, w: float = 0.5, inputs: tuple[float, ...] = (1.0, 2.0, 3.0)
) -> LessonResult:
    """With a cost h²/2 at every step, the printed recursion gives another gradient."""
    net = ScalarNet(w, inputs)
    steps, states = len(inputs), net.states()
    direct = [h / steps for h in states[1:]]
    adjoints = net.adjoints(direct)
    unit, hidden = net.hidden()
    (hidden.square().mean() / 2).backward()
    found = 0.0 if unit.recur.grad is None else float(unit.recur.grad.item())
    rows: list[tuple[str, ...]] = [("t", "h", "C'/T", "δ", "δ h before")]
    for t in range(1, steps + 1):
        values = (states[t], direct[t - 1], adjoints[t - 1], adjoints[t - 1] * states[t - 1])
        rows.append((str(t), *(f"{value:.4f}" for value in values)))
    return LessonResult(
        (
            ComparedNumber("by hand", 5.083, net.gradient(adjoints), 5e-4, by_hand=True),
            ComparedNumber("by autograd", 5.083, found, 5e-4, by_hand=True),
            ComparedNumber(
                "as printed",
                net.printed_gradient(direct),
                found,
                care=PRINTED_RECURSION,
                by_hand=True,
            ),
        ),
        text_table(rows, right=range(5)),
    )
