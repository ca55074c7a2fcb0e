"""A first visit in a browser: what the model does, examples, writing while typing, editing (S8)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest

import seqloom
from seqloom.prediction import Predictor
from seqloom.tasks import introduce
from tests.runs.finished import make_run
from tests.serving.browsing import Page, until
from tests.serving.support import Served, serving

pytestmark = pytest.mark.faults

ESCAPE, RIGHT, TAB = "\ue00c", "\ue014", "\ue004"
SIZES = [(1280, 800), (390, 844)]
HARD = 'it\'s ":null", [true] {"a":false}\n$HOME `x` \\n "'


@pytest.fixture(scope="module", name="model")
def model_(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return seqloom.load(make_run(tmp_path_factory.mktemp("visit")))


@pytest.fixture(scope="module", name="served")
def served_(model: Predictor) -> Iterator[Served]:
    with serving({"pairs": model}) as server:
        yield server


@pytest.fixture(name="page")
def page_(browser: Any, served: Served) -> Page:
    page = Page(browser, served)
    page.wait()
    return page


def copied(page: Page, button: str) -> str:
    """What a button puts on the clipboard."""
    page.browser.execute_script(
        "navigator.clipboard.writeText = async (text) => { window.copied = text; }"
    )
    page.one(button).click()
    until(lambda: page.browser.execute_script("return window.copied"))
    text = page.browser.execute_script("const t = window.copied; window.copied = null; return t")
    return str(text)


def again(page: Page) -> None:
    """Wait for an output that is still to come."""
    page.browser.execute_script("document.getElementById('result').dataset.state = ''")


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_first_example_is_written_and_in_view(
    page: Page, model: Predictor, served: Served, width: int, height: int
) -> None:
    """The line above says what the model does and how well; nothing needs scrolling."""
    with page.on_screen(width, height):
        known = introduce(model)
        assert "exact match" in known.result or "chrF" in known.result
        assert "(" in known.result, "the interval"
        about = page.one("#about").text
        assert all(part in about for part in (known.summary, known.data, known.result))
        assert page.one("#go").text == "Translate"
        first = known.examples[0]
        assert page.one("#source").get_property("value") == first.input
        assert [each.text for each in page.all(".example")] == [
            each.input for each in known.examples
        ]
        (output,) = served.predict(first.input).json["outputs"]
        assert "".join(page.tokens).removesuffix("⏎").strip() == output["text"]
        box, source = page.box("#text"), page.box("#source")
        assert box["bottom"] <= height
        assert box["right"] <= width
        beside = box["left"] >= source["right"]
        assert beside == (width > 960)


def test_another_example_is_one_click(page: Page, model: Predictor) -> None:
    known = introduce(model).examples
    again(page)
    page.all(".example")[1].click()
    page.wait()
    assert page.one("#source").get_property("value") == known[1].input
    assert [each.get_attribute("aria-pressed") for each in page.all(".example")][:2] == [
        "false",
        "true",
    ]
    assert known[1].reference in page.one("#reference").text


def test_writing_while_typing(page: Page, served: Served) -> None:
    """Only for what stands there after a pause; not where the visitor does not want it."""
    again(page)
    page.one("#source").clear()
    page.one("#source").send_keys("ab")
    page.wait()
    (output,) = served.predict("ab").json["outputs"]
    assert page.one("#text").text.replace("⏎", "").strip() == output["text"]
    page.one("#live").click()
    again(page)
    page.one("#source").send_keys("c")
    page.browser.execute_async_script("setTimeout(arguments[0], 600)")
    assert page.all("#result[data-state=done]") == []
    page.one("#live").click()
    page.one("#source").send_keys("d", ESCAPE)
    page.browser.execute_async_script("setTimeout(arguments[0], 600)")
    assert page.all("#result[data-state=done]") == []


@pytest.mark.parametrize("size", SIZES)
def test_the_output_is_copied_as_it_is(page: Page, served: Served, size: tuple[int, int]) -> None:
    with page.on_screen(*size):
        page.write("abc")
        (output,) = served.predict("abc").json["outputs"]
        assert copied(page, "#copy") == output["text"]
        selected = page.browser.execute_script(
            "getSelection().selectAllChildren(document.getElementById('text'));"
            "return String(getSelection())"
        )
        assert selected.strip() == output["text"]


def test_the_visit_is_a_list_to_go_back_in(page: Page) -> None:
    page.write("abc")
    before = page.tokens
    page.write("cab ab")
    page.one("#visited").click()
    rows = [each.text.splitlines()[0] for each in page.all(".visit")]
    assert rows[:2] == ["cab ab", "abc"]
    again(page)
    page.all(".visit")[1].click()
    page.wait()
    assert page.one("#source").get_property("value") == "abc"
    assert page.tokens == before


@pytest.mark.parametrize("size", SIZES)
def test_a_choice_is_marked_undone_and_in_the_link(
    page: Page, served: Served, size: tuple[int, int]
) -> None:
    with page.on_screen(*size):
        page.write("abc")
        before = page.tokens
        page.all("#text .token")[0].click()
        until(lambda: page.all("#others .other"))
        again(page)
        page.all("#others .other:not([disabled])")[1].click()
        page.wait()
        forced = page.tokens
        assert page.all("#text .token")[0].get_attribute("class") == "token chosen"
        page.view("best")
        link = page.browser.current_url.partition("#")[2]
        assert json.loads(unquote(link))["begun"]
        other = Page(page.browser, served, hash_=f"#{link}")
        other.wait()
        assert other.tokens == forced
        assert other.one("#tab-best").get_attribute("aria-selected") == "true"
        again(other)
        other.one("#undo").click()
        other.wait()
        assert other.tokens == before
        assert not other.one("#undo").is_displayed()


def test_escape_and_the_tab_order(page: Page) -> None:
    """One stop for all tokens, arrows between them, and the focus back where it was."""
    page.write("abc")
    tokens = page.all("#text .token")
    assert [each.get_attribute("tabindex") for each in tokens].count("0") == 1
    tokens[0].send_keys(RIGHT)
    active = page.browser.switch_to.active_element
    assert active == tokens[1]
    active.send_keys(" ")
    until(lambda: page.all("#others .other"))
    page.browser.switch_to.active_element.send_keys(ESCAPE)
    assert not page.one("#others").is_displayed()
    assert page.browser.switch_to.active_element == tokens[1]
    stops = page.all("#view [tabindex='0']")
    assert len(stops) == 1


def test_commands_run_as_they_stand(page: Page, served: Served, model: Predictor) -> None:
    """Of what is on the screen, whatever its text holds and whatever was changed since."""
    page.write(HARD)
    page.browser.execute_script("document.getElementById('source').value = 'later'")
    expected = served.ask("POST", "/v1/predict", {"inputs": [HARD]}).json["outputs"][0]["text"]
    curl = subprocess.run(
        ["bash", "-c", copied(page, "#curl")], capture_output=True, text=True, check=True
    )
    assert json.loads(curl.stdout)["outputs"][0]["text"] == expected
    python = copied(page, "#python")
    ran = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{expected}\n"
