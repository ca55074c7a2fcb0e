"""Notebooks: values and progress show themselves, as text and HTML that no data can take over."""

import base64
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from jupyter_client.manager import start_new_kernel
from selenium import webdriver

import seqloom
from seqloom.api.describe import RunDescription
from seqloom.api.notebook_progress import NotebookProgress
from seqloom.api.training_result import TrainingResult
from seqloom.data import Report
from seqloom.display import Displayed
from seqloom.drawing.views import text_of
from seqloom.explain import Alignment, Alignments, AttentionMap, NetworkGraph, Threads
from seqloom.explanations.network_graphs import GraphNode, GraphRow
from seqloom.explanations.trees import SearchTree
from seqloom.metrics import NO_INTERVAL, Score, label_report
from seqloom.metrics.predictions import Predictions
from seqloom.prediction import Branch, Forecast, Output
from seqloom.prediction.output import Token, TokenAlternative
from seqloom.prediction.warnings import InputWarning
from seqloom.runs.parameter_table import PartCount
from seqloom.runs.progress import Validation, ValidationSample
from seqloom.tasks.evaluation import Breakdown, Evaluation
from tests.explain.browser import browser, complaints
from tests.runs.support import PAIRS, options

HOSTILE = """</style><script>alert(1)</script><img src=x onerror='alert(2)'>" &amp; ' end"""
TREE = (
    Branch(0, None, "<start>", 0.0, 0.0, "kept"),
    Branch(1, 0, HOSTILE, -0.1, -0.1, "winner"),
    Branch(2, 0, "b", -3.0, -3.0, "pruned"),
)
MAP = AttentionMap((HOSTILE, "b"), (HOSTILE,), np.array([[0.25, 0.75]]))
TOKEN = Token(HOSTILE, -0.5, (TokenAlternative(HOSTILE, -0.5),))
SCORE = Score(HOSTILE, 1.5, NO_INTERVAL, HOSTILE)
NEXT_BEST = Output("other", -3.0, -3.0, (), "end")
FORECAST = Forecast((HOSTILE,), "time", ("1", "2"), np.ones((2, 1)), {}, np.zeros((3, 1)))
NODE = GraphNode("a", HOSTILE, "source", 0, 0, ())
LABELS = Predictions("label", (HOSTILE, "b"), (HOSTILE, HOSTILE))
VIEWS: dict[str, Displayed] = {
    "output": Output(
        HOSTILE, -0.5, -0.5, (TOKEN,), "length", (HOSTILE, "b"), truncated=True,
        attention=MAP.weights, n_best=(NEXT_BEST, NEXT_BEST), tree=TREE,
        warnings=(InputWarning("unknown_input", 0.5),),
    ),
    "forecast": Output("", float("nan"), float("nan"), (), "end", forecast=FORECAST),
    "attention": MAP,
    "threads": Threads(MAP),
    "tree": SearchTree(TREE),
    "net": NetworkGraph((NODE,), (), (), (GraphRow(HOSTILE, 0, True),), ()),
    "alignments": Alignments((Alignment((HOSTILE, "b"), (HOSTILE,), MAP.weights),) * 2),
    "evaluation": Evaluation(
        Report(), (SCORE,), breakdowns=(Breakdown("labels", HOSTILE, label_report(LABELS)),),
        baselines={HOSTILE: SCORE}, note=HOSTILE,
    ),
    "result": TrainingResult(
        Path(HOSTILE), 7, 60.0, Validation(7, 1.0, 2.0, {HOSTILE: 2.0}), diagnosis=HOSTILE
    ),
    "description": RunDescription(
        HOSTILE, 7, (HOSTILE,), (("source", HOSTILE),), (PartCount(HOSTILE, 5),), ((7, HOSTILE),)
    ),
}  # fmt: skip
TAGS = {"div", "style", "p", "span", "table", "tr", "th", "td", "h4", "pre", "progress"}
TAGS |= {"figure", "img", "details", "summary"}
ATTRIBUTES = {"class", "dir", "style", "title", "alt", "src", "value", "max", "tabindex"}


class Page(HTMLParser):
    """The elements of a piece of HTML, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def assert_harmless(text: str) -> Page:
    """Nothing runs and nothing is fetched: known elements alone, images within, no handlers."""
    page = Page(text)
    assert {tag for tag, _ in page.elements} <= TAGS
    assert [tag for tag, _ in page.elements].count("style") == 1
    for _, attributes in page.elements:
        assert set(attributes) <= ATTRIBUTES
        source = attributes.get("src")
        if source is not None:
            kind, _, data = source.partition(",")
            assert kind == "data:image/svg+xml;base64"
            for element in ElementTree.fromstring(base64.b64decode(data)).iter():
                assert element.tag.split("}")[-1] not in {"script", "foreignObject", "a"}
                link = element.get("{http://www.w3.org/1999/xlink}href", "#")
                assert link.startswith(("#", "data:image/png"))
    return page


class Recorder:
    """An output of a notebook that keeps what it showed."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(bundle)


@pytest.mark.parametrize("name", list(VIEWS))
def test_no_markup_of_the_data_acts(name: str) -> None:
    """What a value holds is shown as text, and the whole of it is there."""
    value = VIEWS[name]
    text = value._repr_html_()
    assert text is not None
    page = assert_harmless(text)
    if name in ("output", "evaluation", "result", "description"):
        assert HOSTILE in page.text
    assert str(value).strip()
    assert str(value) == text_of(value)  # type: ignore[arg-type]


def test_progress_is_harmless_and_ends() -> None:
    """What a training says is text; where an error stops it, no bar stays behind."""
    display = Recorder()
    progress = NotebookProgress(display)
    progress.on_message(HOSTILE)
    assert HOSTILE in assert_harmless(display.shown[-1]["text/html"]).text
    sample = ValidationSample(HOSTILE, HOSTILE, HOSTILE)
    progress.on_validation(Validation(3, 1.0, 2.0), [sample], best=True)
    assert "<progress" in display.shown[-1]["text/html"]
    with pytest.raises(KeyboardInterrupt), progress:
        raise KeyboardInterrupt
    last = display.shown[-1]
    assert_harmless(last["text/html"])
    assert "<progress" not in last["text/html"]
    assert last["text/plain"].endswith("not begun")


def test_pictures_of_a_medium_keep_their_colours() -> None:
    """Drawings turn dark with the page; photographs do not."""
    from seqloom.explanations.media import PictureAttention

    picture = np.zeros((2, 2, 3), np.uint8)
    seen = PictureAttention(picture, ("a",), np.full((1, 1, 1), 1.0))
    assert 'class="drawn"' not in str(seen._repr_html_())
    assert 'class="drawn"' in str(MAP._repr_html_())


THEMES = [
    # Jupyter's theme, what the system prefers, whether the output is dark
    (None, "light", False),
    (None, "dark", True),
    ("true", "light", False),
    ("true", "dark", False),
    ("false", "light", True),
    ("false", "dark", True),
]


def test_colours_follow_jupyter_and_then_the_system(tmp_path: Path) -> None:
    """In Chromium: letters contrast with the paper, drawings turn, and the page complains not."""
    with browser() as opened:
        for theme, system, dark in THEMES:
            attribute = "" if theme is None else f' data-jp-theme-light="{theme}"'
            page = tmp_path / "page.html"
            page.write_text(
                f"<!DOCTYPE html><meta charset=utf-8><body{attribute}>{MAP._repr_html_()}"
            )
            media = {"features": [{"name": "prefers-color-scheme", "value": system}]}
            opened.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            opened.get(page.as_uri())
            ink, paper = (_brightness(opened, name) for name in ("color", "backgroundColor"))
            assert (ink > paper) == dark, (theme, system)
            assert abs(ink - paper) > 128
            turned = opened.execute_script(
                "return getComputedStyle(document.querySelector('.seqloom img')).filter"
            )
            assert (turned != "none") == dark
        assert complaints(opened) == []


def _brightness(opened: webdriver.Chrome, name: str) -> float:
    """The mean of red, green and blue of an output's letters or paper."""
    script = f"return getComputedStyle(document.querySelector('.seqloom')).{name}"
    colour = opened.execute_script(script)
    return float(np.mean([int(each) for each in re.findall(r"\d+", colour)[:3]]))


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    """What a notebook runs its cells in."""
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run_cell(kernel: Any, code: str) -> list[dict[str, Any]]:
    """The contents of the messages that a cell's outputs are made of."""
    found: list[dict[str, Any]] = []
    reply = kernel.execute_interactive(code, timeout=300, output_hook=found.append)
    assert reply["content"]["status"] == "ok", reply["content"]
    return found


def test_a_notebook_shows_training_and_its_results(kernel: Any, tmp_path: Path) -> None:
    """In a real kernel: one output that is replaced while training goes, then values as HTML."""
    chosen = json.dumps({**options(), "training": {**options()["training"], "curves": True}})
    cell = (
        "import json, seqloom\n"
        f"chosen = json.loads({chosen!r})\n"
        f"seqloom.train({PAIRS!r}, run={str(tmp_path / 'run')!r}, options=chosen)"
    )
    messages = run_cell(kernel, cell)
    first = next(each for each in messages if each["msg_type"] == "display_data")
    updates = [each for each in messages if each["msg_type"] == "update_display_data"]
    identity = first["content"]["transient"]["display_id"]
    assert {each["content"]["transient"]["display_id"] for each in updates} == {identity}
    last = updates[-1]["content"]["data"]
    assert "all updates are made" in last["text/plain"]
    assert "<progress" not in last["text/html"]
    assert_harmless(last["text/html"])
    result = messages[-2]["content"]["data"]
    assert result["text/plain"].startswith("run: ")
    assert "data:image/svg+xml" in result["text/html"]
    assert not [each for each in messages if each["msg_type"] == "stream"]
    cell = f"seqloom.load({str(tmp_path / 'run')!r})('aei')"
    (shown,) = (
        each["content"]["data"]
        for each in run_cell(kernel, cell)
        if each["msg_type"] == "execute_result"
    )
    assert shown["text/plain"].startswith(seqloom.load(tmp_path / "run")("aei").text)
    assert_harmless(shown["text/html"])
