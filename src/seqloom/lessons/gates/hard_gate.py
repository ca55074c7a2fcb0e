"""A gate of zeros and ones that overwrites one memory cell."""

import torch

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import hard_gate

__all__ = ["hard_gate_lesson"]


@lesson("hard-gate", "NLP 7: gate example", "Chapter 7: logical masking", chapter="gates")
def hard_gate_lesson(
    *,
    gate: tuple[int, ...] = (0, 1, 0),
    inputs: tuple[int, ...] = (10, 11, 12),
    state: tuple[int, ...] = (8, 9, 3),
) -> LessonResult:
    """A gate of zeros and ones overwrites one cell of a memory and keeps the others."""
    g, x, s = torch.tensor(gate), torch.tensor(inputs), torch.tensor(state)
    after = tuple(hard_gate(g, x, s).tolist())
    literal = tuple((g * x + (1 + g) * s).tolist())
    names = ("g", "x", "s", "g ⊙ x", "(1 − g) ⊙ s", "s'")
    values = (g, x, s, g * x, (1 - g) * s, torch.tensor(after))
    rows = [(name, *map(str, each.tolist())) for name, each in zip(names, values, strict=True)]
    care = "its 1 + g is a sum modulo 2, which is 1 − g; the ordinary sum counts the old cell twice"
    return LessonResult(
        (
            ComparedNumber("s'", (8, 11, 3), after),
            ComparedNumber("second cell with an ordinary 1 + g", 11, literal[1], care=care),
        ),
        text_table(rows, right=(1, 2, 3)),
    )
