"""Lessons of the course, a package per chapter; each file registers its lesson on import.

`seqloom lesson NAME` runs one; docs/course has their chapters.
"""

from importlib import import_module
from pkgutil import walk_packages

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
    "lesson_lines",
    "list_lessons",
    "run_lesson",
    "show",
]

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
