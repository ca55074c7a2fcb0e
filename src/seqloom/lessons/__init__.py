"""The lessons of the course, a package for each chapter; a file registers its lesson on import.

`seqloom lesson NAME` runs one; docs/course has the chapters they belong to.
"""

from seqloom.lessons import (
    attention,
    encoder_decoder,
    gates,
    search,
    tasks,
    training,
    transformer,
    units,
)
from seqloom.lessons.lesson import (
    LESSONS,
    Lesson,
    LessonResult,
    lesson_lines,
    list_lessons,
    run_lesson,
)

__all__ = [
    "LESSONS",
    "Lesson",
    "LessonResult",
    "attention",
    "encoder_decoder",
    "gates",
    "lesson_lines",
    "list_lessons",
    "run_lesson",
    "search",
    "tasks",
    "training",
    "transformer",
    "units",
]
