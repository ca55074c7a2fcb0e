"""The result of a lesson for notebooks and the terminal."""

import html
from dataclasses import dataclass
from typing import Any

from seqloom.display import Displayed
from seqloom.drawing import notebook
from seqloom.drawing.page import table
from seqloom.drawing.views import drawing_of, has_drawing, text_of
from seqloom.lessons.lesson import Lesson, LessonResult, lesson_lines, run_lesson, words_of

__all__ = ["ShownLesson", "show"]


@dataclass(frozen=True)
class ShownLesson(Displayed):
    """A lesson and its result; `result.numbers` has the numbers, `result.view` the picture."""

    lesson: Lesson
    result: LessonResult
    changed: bool = False  # if so, it need not reproduce the numbers of the text

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        numbers = [
            {"name": each.name, "text": each.printed, "here": each.found, "verdict": each.verdict}
            for each in self.result.numbers
        ]
        return {"lesson": self.lesson.name, "items": self.lesson.items, "numbers": numbers}


def show(name: str, *changes: str) -> ShownLesson:
    """Run a lesson of the course, with `"setting=value"` for whatever is to differ from the text.

    In a notebook, its numbers and picture are displayed.
    """
    return ShownLesson(*run_lesson(name, changes), changed=bool(changes))


@text_of.register
def shown_text(shown: ShownLesson, width: int = 80) -> str:
    """The output of `seqloom lesson`."""
    return "\n".join(lesson_lines(shown.lesson, shown.result, changed=shown.changed))


@notebook.notebook_part.register
def shown_part(shown: ShownLesson) -> str:
    """The title, the computed lines, the picture, the numbers and the remarks."""
    result, view = shown.result, shown.result.view
    parts = [notebook.heading(shown.lesson.title)]
    parts.append(notebook.paragraph("; ".join(shown.lesson.items), "faint"))
    if view is not None and has_drawing(view):
        parts.append(notebook.picture(drawing_of(view), shown.lesson.title))
    if result.shown:
        parts.append(f"<pre>{html.escape(result.shown)}</pre>")
    rows = []
    for each in result.numbers:
        verdict = "" if shown.changed and each.verdict == "✗" else each.verdict
        printed = "" if each.printed is None else words_of(each.printed)
        rows.append((each.name, printed, words_of(each.found), verdict,
                     "by hand" if each.by_hand else ""))  # fmt: skip
    parts.append(table(("", "text", "here", "", ""), rows, numbers=(1, 2)))
    parts += [notebook.paragraph(remark) for remark in result.remarks()]
    if shown.lesson.settings:
        settings = ", ".join(f"{name}={words_of(value)}"
                             for name, value in shown.lesson.settings.items())  # fmt: skip
        parts.append(notebook.paragraph(f"Can be changed: {settings}", "faint"))
    return "\n".join(parts)
