"""A lesson runs one experiment of the course texts and compares its numbers with theirs (S11)."""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seqloom.drawing.views import View, text_of
from seqloom.errors import ConfigError
from seqloom.lessons.text_table import text_table
from seqloom.registry import Family

__all__ = [
    "CHAPTERS",
    "LESSONS",
    "ComparedNumber",
    "Lesson",
    "LessonResult",
    "lesson",
    "lesson_lines",
    "list_lessons",
    "run_lesson",
    "words_of",
]

CHAPTERS = (
    *("units", "training", "gates", "encoder-decoder"),
    *("search", "attention", "transformer", "tasks"),
)
"""The chapters of the course, in their order; each is a page of docs/course."""

Number = float | int | str
Verdict = Literal["", "✓", "≠", "✗"]
WIDTH = 88  # columns of a wrapped remark


@dataclass(frozen=True)
class ComparedNumber:
    """A number of the text compared with ours.

    The two must agree up to `within`. `care` is set if the text's number is wrong, and explains
    why. `printed` is None if the text has no number; `by_hand` marks a number derived from the text
    rather than printed in it.
    """

    name: str
    printed: Number | tuple[Number, ...] | None
    found: Number | tuple[Number, ...]
    within: float = 0.0
    care: str = ""
    by_hand: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict: agreement, an explained difference, a difference, or no comparison."""
        if self.printed is None:
            return ""
        printed, found = _as_tuple(self.printed), _as_tuple(self.found)
        agree = len(printed) == len(found) and all(
            _agree(a, b, self.within) for a, b in zip(printed, found, strict=True)
        )
        if self.care:  # an explained difference must exist
            return "✗" if agree else "≠"
        return "✓" if agree else "✗"


@dataclass(frozen=True)
class LessonResult:
    """The result of an experiment: compared numbers, and lines to show before them."""

    numbers: tuple[ComparedNumber, ...]
    shown: str = ""
    view: View | None = None  # can be written to a file

    @property
    def holds(self) -> bool:
        """Whether every number agrees with the text or is explained."""
        return all(each.verdict != "✗" for each in self.numbers)

    def lines(self, *, changed: bool = False) -> list[str]:
        """Lines for a terminal; a changed experiment need not reproduce the numbers of the text."""
        parts = [self.shown or (text_of(self.view) if self.view is not None else "")]
        rows = [("", "text", "here", "", "")]
        for each in self.numbers:
            printed = "" if each.printed is None else words_of(each.printed)
            note = "by hand" if each.by_hand else ""
            verdict = "" if changed and each.verdict == "✗" else each.verdict
            rows.append((each.name, printed, words_of(each.found), verdict, note))
        remarks = [textwrap.fill(each, WIDTH, subsequent_indent="  ") for each in self.remarks()]
        blocks = [*parts, text_table(rows, right=(1, 2)), "\n".join(remarks)]
        return "\n\n".join(block for block in blocks if block).splitlines()

    def remarks(self) -> list[str]:
        """Each explanation of a difference, with the names of its numbers."""
        cares: dict[str, list[str]] = {}
        for each in self.numbers:
            if each.care:
                cares.setdefault(each.care, []).append(each.name)
        return [f"≠ {', '.join(names)}: {care}" for care, names in cares.items()]


@dataclass(frozen=True)
class Lesson:
    """An experiment, the items of the texts that it reproduces, and its chapter."""

    name: str
    items: tuple[str, ...]
    chapter: str
    experiment: Callable[..., LessonResult]
    trains: bool  # whether it trains a model, which takes time

    @property
    def title(self) -> str:
        """A one-sentence description."""
        return (inspect.getdoc(self.experiment) or "").partition("\n")[0]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings, with their values in the text."""
        parameters = inspect.signature(self.experiment).parameters.values()
        return {each.name: each.default for each in parameters}


LESSONS: Family[Any, Lesson] = Family("lesson", home="seqloom.lessons")


def lesson(
    name: str, *items: str, chapter: str, trains: bool = False
) -> Callable[[Callable[..., LessonResult]], Callable[..., LessonResult]]:
    """Register an experiment under a name, with the items of the texts that it reproduces."""

    def add(experiment: Callable[..., LessonResult]) -> Callable[..., LessonResult]:
        LESSONS.part(name)(Lesson(name, items, chapter, experiment, trains))
        return experiment

    return add


def run_lesson(name: str, changes: Sequence[str] = ()) -> tuple[Lesson, LessonResult]:
    """Run an experiment, with `setting=value` for settings other than the text's."""
    chosen = LESSONS.parts[name]
    given = dict(_setting(chosen, change) for change in changes)
    return chosen, chosen.experiment(**given)


def lesson_lines(chosen: Lesson, result: LessonResult, *, changed: bool = False) -> list[str]:
    """The command's output: title, items, numbers, and settings."""
    settings = ", ".join(chosen.settings)
    change = ["", f"Can be changed: {settings}"] if settings else []
    return [
        chosen.title,
        f"({'; '.join(chosen.items)})",
        "",
        *result.lines(changed=changed),
        *change,
    ]


def list_lessons() -> list[str]:
    """A line for each lesson, by chapter."""
    LESSONS.load()
    members = [LESSONS.parts[name] for name in LESSONS.kinds()]
    lines = []
    for chapter in CHAPTERS:
        rows = [(f"  {each.name}", each.title) for each in members if each.chapter == chapter]
        lines += [chapter, *text_table(rows).splitlines()]
    return lines


def _setting(chosen: Lesson, change: str) -> tuple[str, Any]:
    name, _, value = change.partition("=")
    settings: Mapping[str, Any] = chosen.settings
    if name not in settings:
        known = ", ".join(settings)
        raise ConfigError(
            f"the lesson {chosen.name!r} has no setting {name!r}",
            remedy=f"choose {known}" if known else "run it as it is",
        )
    default = settings[name]
    try:
        if isinstance(default, tuple):
            return name, tuple(type(default[0])(part) for part in value.split(","))
        return name, type(default)(value)
    except ValueError:
        raise ConfigError(
            f"{name} = {value!r} is not of its kind", remedy=f"the text has {words_of(default)}"
        ) from None


def _as_tuple(value: Number | tuple[Number, ...]) -> tuple[Number, ...]:
    return value if isinstance(value, tuple) else (value,)


def _agree(printed: Number, found: Number, within: float) -> bool:
    if isinstance(printed, str) or isinstance(found, str):
        return printed == found
    return abs(printed - found) <= within


def words_of(value: Number | tuple[Number, ...]) -> str:
    """Format a number, a word or a list of them."""
    if isinstance(value, tuple):
        return "(" + ", ".join(words_of(each) for each in value) + ")"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
