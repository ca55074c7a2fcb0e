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
from seqloom.lessons.shown_lesson import ShownLesson, show

__all__ = [
    "LESSONS",
    "Lesson",
    "LessonResult",
    "ShownLesson",
    "attention",
    "encoder_decoder",
    "gates",
    "lesson_lines",
    "list_lessons",
    "run_lesson",
    "search",
    "show",
    "tasks",
    "training",
    "transformer",
    "units",
]
