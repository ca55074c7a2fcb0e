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
from seqloom.explain import beam_tree, explain_steps, write
from seqloom.explanations.attention import attention_of
from seqloom.prediction import TextPredictor
from seqloom.tasks import explain_output
from tests.prediction.untrained import untrained
from tests.runs.finished import make_run
from tests.serving.browsing import Page, until
from tests.serving.kinds import made
from tests.serving.support import Served, serving

pytestmark = pytest.mark.faults

LIGHTS = [(1280, 800, "light"), (390, 844, "dark")]
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
    models = {
        "transformer": untrained("transformer"),
        "lstm": untrained("lstm"),
        "mood": made("mood"),
    }
    with serving(models) as server:
        yield server


def violations(browser: Any, axe: str) -> list[str]:
    """What axe-core finds on the page that is open."""
    browser.execute_script(axe)
    found: list[str] = browser.execute_async_script(RUN)
    return found


def in_light(browser: Any, colours: str) -> None:
    wish = [{"name": "prefers-color-scheme", "value": colours}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wish})


@pytest.mark.parametrize("screen", LIGHTS, ids=["desktop", "phone"])
@pytest.mark.parametrize("model", ["transformer", "lstm", "mood"])
def test_every_view(
    browser: Any, served: Served, axe: str, model: str, screen: tuple[int, int, str]
) -> None:
    width, height, colours = screen
    in_light(browser, colours)
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.choose(model)
        page.write("red sun" if model == "mood" else "cab")
        for tab in [each.get_attribute("data-view") for each in page.all("[role=tab]")]:
            page.view(tab)
            until(lambda: page.all("#view > *") and "Computing" not in page.one("#view").text)
            assert violations(browser, axe) == [], tab
        if model != "mood":
            page.all("#text .token")[0].click()
            page.one("#others-too").click()
            until(lambda: page.all("#comparison[data-state=done]"))
            assert violations(browser, axe) == []


@pytest.mark.parametrize("screen", LIGHTS, ids=["desktop", "phone"])
def test_every_page(
    browser: Any, served: Served, axe: str, tmp_path: Path, screen: tuple[int, int, str]
) -> None:
    """Each picture has a text alternative, too."""
    width, height, colours = screen
    run = make_run(tmp_path)
    model = seqloom.load(run)
    assert isinstance(model, TextPredictor)
    said = explain_output(model, "abc")
    write_report(run, tmp_path / "report.html")
    write(attention_of(model, said).select_map(), tmp_path / "attention.html", title="attention")
    write(beam_tree(model, "abc", width=3, expansions=10), tmp_path / "tree.html", title="tree")
    write(explain_steps(model, said), tmp_path / "steps.html", title="steps")
    in_light(browser, colours)
    page = Page(browser, served)
    with page.on_screen(width, height):
        for name in ("report", "attention", "tree", "steps"):
            browser.get((tmp_path / f"{name}.html").as_uri())
            assert violations(browser, axe) == [], name
            bare = "return document.querySelectorAll('figure svg:not([aria-label])').length"
            assert browser.execute_script(bare) == 0
            wide = browser.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, name
        browser.get(f"{served.address}/docs")
        until(lambda: browser.find_elements("id", "limit"))
        assert violations(browser, axe) == []
