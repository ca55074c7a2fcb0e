"""No view of the playground, and no page of `look` or `report`, has what axe-core objects to.

axe-core is no dependency: SEQLOOM_AXE names its file (axe.min.js of `npm pack axe-core`), and tests
are skipped, with a notice, where it does not.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.api.report import write_report
from seqloom.drawing.views import View
from seqloom.explain import (
    architecture_graph,
    beam_tree,
    explain_steps,
    trace_output,
    unroll_graph,
    write,
)
from seqloom.explanations.attention import attention_of
from seqloom.prediction import TextPredictor
from seqloom.tasks import explain_output
from tests.prediction.untrained import untrained
from tests.runs.finished import make_run
from tests.serving.browsing import Page, until
from tests.serving.kinds import made, picture, recording, series
from tests.serving.support import Served, serving
from tests.serving.watched import watching

pytestmark = pytest.mark.faults

SCREENS = [(width, colours) for width in (1280, 390) for colours in ("light", "dark")]
HEIGHTS = {1280: 800, 390: 844}
INPUTS = {
    "transformer": "cab", "lstm": "cab", "mood": "red sun", "parts": "red sun", "gaps": "red [?]",
    "price": "red sun", "chat": "ab", "named": None, "tale": "ab", "load": series(8),
    "caption": picture(), "speech": recording(),
}  # fmt: skip
RUN = """const done = arguments[0];
const told = ({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`);
axe.run(document, { resultTypes: ["violations"] }).then(
  ({ violations }) => done(violations.flatMap(told)))"""


@pytest.fixture(scope="module", name="axe")
def axe_() -> str:
    path = os.environ.get("SEQLOOM_AXE", "")
    if not Path(path).is_file():
        pytest.skip("SEQLOOM_AXE does not name axe.min.js of axe-core")
    return Path(path).read_text(encoding="utf-8")


@pytest.fixture(scope="module", name="served")
def served_() -> Iterator[Served]:
    own = {"transformer": untrained("transformer"), "lstm": untrained("lstm")}
    with serving({**own, **{name: made(name) for name in INPUTS if name not in own}}) as server:
        yield server


def violations(browser: Any, axe: str) -> list[str]:
    """What axe-core finds on the page that is open."""
    browser.execute_script(axe)
    found: list[str] = browser.execute_async_script(RUN)
    return found


def in_light(browser: Any, colours: str) -> None:
    wish = [{"name": "prefers-color-scheme", "value": colours}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wish})


def give(page: Page, given: Any) -> None:
    """Let the page predict for an input of any kind."""
    if isinstance(given, bytes):
        name, kind = (
            ("a.png", "image/png") if given.startswith(b"\x89PNG") else ("a.wav", "audio/wav")
        )
        page.drop(given, name, kind)
    elif isinstance(given, dict):
        rows = [given, *zip(*given.values(), strict=True)]
        page.write("\n".join(",".join(map(str, row)) for row in rows), into="table")
    elif given is None:
        page.one("#go").click()
    else:
        page.write(given, into="line" if page.one("#line").is_displayed() else "source")
    page.wait()


@pytest.mark.parametrize("screen", SCREENS, ids=str)
@pytest.mark.parametrize("model", INPUTS)
def test_every_view(
    browser: Any, served: Served, axe: str, model: str, screen: tuple[int, str]
) -> None:
    """Each view of each kind of model, and all of it unfolded beside a comparison."""
    width, colours = screen
    in_light(browser, colours)
    page = Page(browser, served)
    with page.on_screen(width, HEIGHTS[width]):
        page.choose(model)
        give(page, INPUTS[model])
        assert violations(browser, axe) == []
        for tab in [each.get_attribute("data-view") for each in page.all("[role=tab]")]:
            page.view(tab)
            until(lambda: page.all("#view > *") and "Computing" not in page.one("#view").text)
            assert violations(browser, axe) == [], tab
        browser.execute_script(
            "for (const each of document.querySelectorAll('details')) each.open = true"
        )
        if page.all("#text .token"):
            page.all("#text .token")[0].click()
        for button in ("#compare", "#others-too"):
            if page.one(button).is_displayed():
                page.one(button).click()
                until(lambda: page.all("#comparison[data-state=done]"))
        assert violations(browser, axe) == []


@pytest.fixture(scope="module", name="pages")
def pages_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, its report, and pages of `look`."""
    folder = tmp_path_factory.mktemp("pages")
    run = make_run(folder, "lstm")
    model = seqloom.load(run)
    assert isinstance(model, TextPredictor)
    said = explain_output(model, "abc")
    trace = trace_output(model.network, said)
    write_report(run, folder / "report.html")
    views: dict[str, View] = {
        "attention": attention_of(model, said).select_map(),
        "tree": beam_tree(model, "abc", width=3, expansions=10),
        "steps": explain_steps(model, said),
        "net": unroll_graph(model.network, trace),
        "whole": architecture_graph(model.network),
    }
    for name, view in views.items():
        write(view, folder / f"{name}.html", title=name)
    return folder


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_every_page(
    browser: Any, served: Served, axe: str, pages: Path, screen: tuple[int, str]
) -> None:
    """Each picture has a text alternative, too; the pages of docs and of `watch` are there."""
    width, colours = screen
    in_light(browser, colours)
    page = Page(browser, served)
    with page.on_screen(width, HEIGHTS[width]):
        for path in sorted(pages.glob("*.html")):
            name = path.stem
            browser.get(path.as_uri())
            assert violations(browser, axe) == [], name
            bare = "return document.querySelectorAll('figure svg:not([aria-label])').length"
            assert browser.execute_script(bare) == 0
            wide = browser.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, name
        browser.get(f"{served.address}/docs")
        until(lambda: browser.find_elements("id", "limit"))
        assert violations(browser, axe) == []
        with watching(pages / "lstm") as watched:
            browser.get(watched.address)
            until(lambda: browser.find_elements("css selector", "body[data-state=shown]"))
            assert violations(browser, axe) == []
