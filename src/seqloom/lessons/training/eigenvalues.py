"""Gradients over time vanish or explode by the spectral radius."""

import torch

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman

__all__ = ["eigenvalues_lesson"]

STEPS = (0, 10, 50, 100, 299)


@lesson(
    "eigenvalues", "Chapter 7: (7.12) and (7.13)", "EE 628: problems with these gradients",
    chapter="training",
)  # fmt: skip
def eigenvalues_lesson(
    *, below: float = 0.9, above: float = 1.1, length: int = 300, width: int = 4
) -> LessonResult:
    """The gradient 50 steps back is .0052 or 117 times that of the last step."""
    sizes = {value: _sizes(value, length, width) for value in (below, above)}
    rows = [("steps back", *(f"eigenvalue {value}" for value in sizes))]
    for back in (each for each in STEPS if each < length):
        rows.append((str(back), *(f"{each[back]:.3g}" for each in sizes.values())))
    return LessonResult(
        (
            ComparedNumber("50 steps back, .9", 0.0052, sizes[below][50], 5e-5, by_hand=True),
            ComparedNumber("50 steps back, 1.1", 117, sizes[above][50], 0.5, by_hand=True),
            ComparedNumber("first step of 300, .9", 2e-14, sizes[below][-1], 0.1e-14, by_hand=True),
        ),
        text_table(rows, right=(0, 1, 2)),
    )


def _sizes(eigenvalue: float, length: int, width: int) -> list[float]:
    """‖∂C/∂h_t‖ from the last step back, of a linear unit whose W is a scaled rotation."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        unit = Elman(1, width, activation="identity", bias=False).double()
    with torch.no_grad():
        unit.recur.mul_(eigenvalue)
    state = torch.zeros(1, width, dtype=torch.float64, requires_grad=True)
    states, read = [state], torch.zeros(1, 1, 1, dtype=torch.float64)
    for _ in range(length - 1):
        _, (after,) = unit(read, (states[-1],))
        states.append(after[:, -1])
    gradients = torch.autograd.grad(states[-1][0, 0], states)
    return [float(each.norm()) for each in reversed(gradients)]
