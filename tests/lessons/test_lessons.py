"""S10, S11: each row of the table in docs/course is one command, and finds the text's numbers."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from seqloom import lessons
from seqloom.errors import ConfigError
from seqloom.lessons import LESSONS, LessonResult, lesson_lines, run_lesson
from seqloom.lessons.lesson import CHAPTERS, ComparedNumber
from tests.cli.support import command_runner
from tests.counts import count
from tests.lessons.numbers import NUMBERS

COURSE = Path(__file__).parents[2] / "docs" / "course"
ROW = re.compile(
    r"^\| (.+?) \| `seqloom lesson ([a-z-]+)` \| \[.*?\]\(([a-z-]+)\.md\)", re.MULTILINE
)
TABLE = ROW.findall((COURSE / "README.md").read_text(encoding="utf-8"))
LESSONS.load()
QUICK = [name for name in LESSONS.kinds() if not LESSONS.parts[name].trains]
RUN = LESSONS.kinds() if count(0, 1) else QUICK  # in full, those that train too


@cache
def result(name: str) -> LessonResult:
    return run_lesson(name)[1]


def test_the_table_has_every_item_of_every_lesson() -> None:
    """Each item of the texts once, with the command and the chapter of its lesson."""
    members = [LESSONS.parts[name] for name in LESSONS.kinds()]
    items = [(item, each.name, each.chapter) for each in members for item in each.items]
    assert sorted(TABLE) == sorted(items)
    assert len({item for item, _, _ in items}) == len(items)


@pytest.mark.parametrize("name", RUN)
def test_a_lesson_finds_the_numbers_of_the_text(name: str) -> None:
    """Those of tests/lessons/numbers.py, which are taken from the texts or worked out by hand."""
    found = {each.name: each.found for each in result(name).numbers}
    assert [each.name for each in result(name).numbers if each.verdict == "✗"] == []
    for number, expected in NUMBERS[name].items():
        assert agree(found[number], expected), (number, found[number], expected)


def agree(found: Any, expected: Any) -> bool:
    """Numbers up to rounding; words and what is given with a tolerance as they are."""
    values = expected if isinstance(expected, tuple) else (expected,)
    numeric = all(isinstance(each, int | float) for each in values)
    return bool(found == (pytest.approx(expected) if numeric else expected))


def test_numbers_are_known_of_every_lesson() -> None:
    assert sorted(NUMBERS) == sorted(LESSONS.kinds())


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_has_the_commands_of_its_lessons(chapter: str) -> None:
    """With the equation, an exercise, and its answer folded away."""
    page = (COURSE / f"{chapter}.md").read_text(encoding="utf-8")
    names = [name for name in LESSONS.kinds() if LESSONS.parts[name].chapter == chapter]
    assert [name for name in names if f"seqloom lesson {name}\n" not in page] == []
    assert "$$" in page
    assert "<details>" in page


@pytest.mark.parametrize("name", QUICK)
def test_what_a_chapter_shows_is_what_the_command_prints(name: str) -> None:
    page = (COURSE / f"{LESSONS.parts[name].chapter}.md").read_text(encoding="utf-8")
    shown = page.partition(f"$ seqloom lesson {name}\n")[2].partition("```")[0]
    assert shown.splitlines() == lesson_lines(LESSONS.parts[name], result(name))


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                     tmp_path: Path) -> None:  # fmt: skip
    """It lists, runs, changes, draws; a name or a setting that is not there is one sentence."""
    seqloom = command_runner(monkeypatch, capsys)
    assert "hard-gate" in seqloom("lesson").out
    assert "(8, 11, 3)" in seqloom("lesson", "hard-gate").out
    assert "(10, 9, 3)" in seqloom("lesson", "hard-gate", "--with", "gate=1,0,0").out
    picture = tmp_path / "matrix.png"
    assert seqloom("lesson", "attention-matrix", "--to", picture).code == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "did you mean 'hard-gate'" in seqloom("lesson", "hard-gat").sentence
    assert "has no setting 'gat'" in seqloom("lesson", "hard-gate", "--with", "gat=1").sentence
    assert "has no picture" in seqloom("lesson", "hard-gate", "--to", picture).sentence


def test_a_value_of_another_kind_is_an_error() -> None:
    with pytest.raises(
        ConfigError, match=r"gate = 'x' is not of its kind; the text has \(0, 1, 0\)"
    ):
        run_lesson("hard-gate", ["gate=x"])


@pytest.mark.parametrize(
    ("printed", "found", "verdict"),
    [(1.0, 1.05, "✓"), (1.0, 1.2, "✗"), ((1, 2), (1,), "✗"), ("a", "b", "✗"), (None, 1, "")],
)
def test_a_difference_is_seen(printed: Any, found: Any, verdict: str) -> None:
    assert ComparedNumber("x", printed, found, 0.1).verdict == verdict
    if printed is not None:  # what is explained must differ
        explained = ComparedNumber("x", printed, found, 0.1, care="why").verdict
        assert explained == ("✗" if verdict == "✓" else "≠")


def test_what_a_lesson_finds_is_computed() -> None:
    """No number beside the text's is written down in the source of a lesson."""
    typed = [
        f"{path.name}:{call.lineno}"
        for path in sorted(Path(lessons.__file__).parent.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "ComparedNumber"
        if len(call.args) < 3 or is_literal(call.args[2])
    ]
    assert typed == []


def is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True
