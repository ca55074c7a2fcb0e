"""The steps that read and the steps that write, in each paradigm."""

import torch

from seqloom.lessons.draws import draw_module, draw_values
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman

__all__ = ["paradigms_lesson"]

PARADIGMS = {
    "(a) one to many": ("x··", "yyy", "captioning", "source.kind=picture"),
    "(b) many to one": ("xxx", "··y", "sentiment", "target.kind=label"),
    "(c) many to many, in part": ("xxx··", "··yyy", "translation", "the default"),
    "(d) many to many": ("xxx", "yyy", "tagging", "target.kind=tags"),
}


@lesson("paradigms", "Chapter 7: Figure 7.2 (a) to (d)", chapter="tasks")
def paradigms_lesson() -> LessonResult:
    """Four paradigms by what each unit reads and writes: 3, 3, 5 and 3 units."""
    rows = [("", "reads", "writes", "task", "in Seqloom")]
    units, links = [], []
    for name, (reads, writes, task, option) in PARADIGMS.items():
        steps, linked = _links(reads, writes)
        units.append(steps)
        links.append(linked)
        rows.append((name, reads, writes, task, option))
    return LessonResult(
        (
            ComparedNumber("units", (3, 3, 5, 3), tuple(units)),
            ComparedNumber(
                "inputs that each change outputs, pairs", (3, 3, 9, 6), tuple(links), by_hand=True
            ),
        ),
        text_table(rows),
    )


@torch.no_grad()
def _links(reads: str, writes: str) -> tuple[int, int]:
    """The steps of a unit that reads zeros at a dot, and the input–output pairs it connects."""
    unit = draw_module(lambda: Elman(2, 3))
    inputs = draw_values(1, len(reads), 2) * torch.tensor([each == "x" for each in reads])[:, None]
    written = torch.tensor([each == "y" for each in writes])
    outputs, _ = unit(inputs, unit.zero_state(inputs))
    changed = 0
    for step in (place for place, each in enumerate(reads) if each == "x"):
        other = inputs.clone()
        other[0, step] += 1
        after, _ = unit(other, unit.zero_state(other))
        moved = (after - outputs)[0].abs().sum(dim=1) > 0
        changed += int((moved & written).sum())
    return outputs.shape[1], changed
