"""S11: the chapters are notebooks too, made of the pages, and every cell of them runs."""

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import nbformat
import pytest

from seqloom.lessons import LESSONS, show
from seqloom.lessons.lesson import CHAPTERS
from tests.counts import count

ROOT = Path(__file__).parents[2]
RUN = CHAPTERS if count(0, 1) else ()


def load_script() -> Any:
    loader = SourceFileLoader("notebooks", str(ROOT / "scripts" / "notebooks"))
    spec = spec_from_loader("notebooks", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


SCRIPT = load_script()


def notebook_of(chapter: str) -> Any:
    page = (ROOT / "docs" / "course" / f"{chapter}.md").read_text(encoding="utf-8")
    return SCRIPT.chapter_notebook(page)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_notebook_runs_what_its_page_shows(chapter: str) -> None:
    """Every lesson of the chapter is a cell, no output is copied, and pictures are within it."""
    notebook = notebook_of(chapter)
    nbformat.validate(notebook)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    names = {name for name in LESSONS.kinds() if LESSONS.parts[name].chapter == chapter}
    assert set(re.findall(r'^show\("([a-z0-9-]+)"\)$', code, re.MULTILINE)) == names
    assert "Can be changed:" not in text
    pictures = {name for cell in notebook.cells for name in cell.get("attachments", {})}
    assert set(re.findall(r"attachment:([\w.-]+)", text)) == pictures
    assert "<details>" in text


@pytest.mark.parametrize("chapter", RUN)
def test_a_notebook_runs_from_top_to_bottom(chapter: str, tmp_path: Path) -> None:
    """In less than five minutes, and what a cell computes is shown as HTML."""
    notebook = notebook_of(chapter)
    assert SCRIPT.run(notebook, tmp_path) < SCRIPT.LIMIT
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.startswith("show("):
            assert any("text/html" in output.get("data", {}) for output in cell.outputs)


def test_a_lesson_shows_itself() -> None:
    """Its numbers as a table, its picture as an image, and in a terminal as the command does."""
    shown = show("attention-matrix")
    page = shown._repr_html_()
    assert page is not None
    assert "<img" in page
    assert ">deep</td>" in page
    assert "profondeur attends most to" in str(shown)
    assert "(10, 9, 3)" in str(show("hard-gate", "gate=1,0,0"))
