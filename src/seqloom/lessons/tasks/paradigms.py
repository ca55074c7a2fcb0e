"""Which step reads and which step writes, in each paradigm."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table

__all__ = ["paradigms_lesson"]

PARADIGMS = {
    "(a) one to many": ("x··", "yyy", "captioning"),
    "(b) many to one": ("xxx", "··y", "sentiment"),
    "(c) many to many, in part": ("xxx··", "··yyy", "translation"),
    "(d) many to many": ("xxx", "yyy", "tagging"),
}


@lesson("paradigms", "Chapter 7: Figure 7.2 (a) to (d)", chapter="tasks")
def paradigms_lesson() -> LessonResult:
    """Four paradigms by what each unit reads and writes: 3, 3, 5 and 3 units."""
    rows = [("", "reads", "writes", "task", "in Seqloom")]
    options = ("source.kind=picture", "target.kind=label", "the default", "target.kind=tags")
    for (name, (reads, writes, task)), option in zip(PARADIGMS.items(), options, strict=True):
        rows.append((name, reads, writes, task, option))
    units = tuple(len(reads) for reads, _, _ in PARADIGMS.values())
    outputs = tuple(writes.count("y") for _, writes, _ in PARADIGMS.values())
    return LessonResult(
        (
            ComparedNumber("units", (3, 3, 5, 3), units),
            ComparedNumber("outputs", (3, 1, 3, 3), outputs),
        ),
        text_table(rows),
    )
