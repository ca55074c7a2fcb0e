"""The playground in a real browser, on models that say what they should not (RELIABILITY D7)."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seqloom.fields import TextField
from seqloom.prediction import TextPredictor
from tests.prediction.untrained import untrained
from tests.serving.browsing import Page, until
from tests.serving.kinds import made
from tests.serving.support import Served, serving

pytestmark = pytest.mark.faults

ATTACK = "<img src=x onerror=window.hurt=1>"


@pytest.fixture(scope="module")
def models() -> dict[str, TextPredictor]:
    """One model writes letters, the other an attack, in any case in part."""
    return {"first": untrained("transformer"), "second": untrained("lstm", seed=2)}


@pytest.fixture(scope="module")
def open_page(browser: Any, models: dict[str, TextPredictor]) -> Iterator[tuple[Any, Served]]:
    with serving(models) as served:
        yield browser, served


def test_an_output_and_what_explains_it(open_page: tuple[Any, Served]) -> None:
    """Tokens, threads, the heat map, the best outputs and the tree are those of the answer."""
    browser, served = open_page
    page = Page(browser, served)
    page.write("abc")
    asked = {"search": {"kind": "beam", "width": 5}, "n_best": 3, "attention": True}
    (output,) = served.predict("abc", **asked).json["outputs"]
    assert len(page.tokens) == len(output["tokens"])
    until(lambda: page.all("#view svg text"))
    assert len(page.all("#view svg text")) == len(output["tokens"]) + len(output["source"])
    page.view("heat")
    assert len(page.all("#view .cell")) == len(output["tokens"]) * len(output["source"])
    page.view("best")
    assert len(page.all("#view tbody tr")) == len(output["n_best"])
    page.view("tree")
    until(lambda: page.all("#view .node"))
    own = [line for line in browser.get_log("browser") if served.address in line["message"]]
    assert own == []


def test_going_on_from_another_token(open_page: tuple[Any, Served]) -> None:
    """A token that is chosen stands where it was offered, and the rest is written anew."""
    browser, served = open_page
    page = Page(browser, served)
    page.write("abc")
    before = page.tokens
    page.all("#text .token")[1].click()
    until(lambda: page.all(".other"))
    others = [each.text.splitlines()[0] for each in page.all(".other")]
    number = next(
        n for n, name in enumerate(others) if n and name.strip() not in ("", "(end here)")
    )
    browser.execute_script("document.getElementById('result').dataset.state = ''")
    page.all(".other")[number].click()
    page.wait()
    assert page.tokens[0] == before[0]
    assert page.tokens[1].strip() == others[number].strip()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_searches_and_models_side_by_side(
    open_page: tuple[Any, Served], width: int, height: int
) -> None:
    """A column for each, with its output, its attention and its time; below them the outputs word
    by word, and the log-probability that each model gives to each."""
    browser, served = open_page
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.write("cab")
        page.one("#compare").click()
        until(lambda: page.all("#comparison[data-state=done]"))
        assert len(page.all("#comparison .column")) == 5
        assert all("ms" in each.text for each in page.all("#comparison .column"))
        page.one("#others-too").click()
        until(lambda: len(page.all("#comparison .column")) == 2)
        until(lambda: page.all("#comparison[data-state=done]"))
        names = [each.text for each in page.all("#comparison h3")]
        assert names == ["first", "second"]
        said = {
            name: served.predict("cab", model=name, attention=True).json["outputs"][0]
            for name in names
        }
        shown = [each.get_property("textContent") for each in page.all("#comparison .said")]
        assert shown == [each["text"] for each in said.values()]
        cells = [len(each.find_elements("css selector", ".cell")) for each in page.all(".column")]
        assert cells == [len(each["tokens"]) * len(each["source"]) for each in said.values()]
        one, other = (
            [each.text for each in row.find_elements("css selector", "td")]
            for row in page.all("#comparison .aligned tr")
        )
        for row, output in zip((one, other), said.values(), strict=True):
            assert "".join(word for word in row if word != "\N{EN DASH}") == "".join(
                output["text"].split()
            )
        marked = [
            "differs" in (each.get_attribute("class") or "")
            for each in page.all("#comparison .aligned tr:last-child td")
        ]
        assert marked == [a != b for a, b in zip(one, other, strict=True)]
        pairs = [["cab", each["text"]] for each in said.values()]
        for name, row in zip(names, page.all("#comparison .judged tr")[1:], strict=True):
            body = {"model": name, "pairs": pairs}
            scores = served.ask("POST", "/v1/score", body).json["scores"]
            assert row.text.split()[1:] == [f"{each['score']:.3f}" for each in scores]


def test_only_models_that_read_the_same_are_compared(browser: Any) -> None:
    """One that reads or gives something else is not offered."""
    models = {"first": untrained(), "second": untrained(seed=2), "mood": made("mood")}
    with serving(models) as served:
        page = Page(browser, served)
        page.write("cab")
        page.one("#others-too").click()
        until(lambda: page.all("#comparison[data-state=done]"))
        offered = [each.text for each in page.all("#comparison .check")]
        assert offered[-2:] == ["first", "second"]
        assert not any("mood" in each for each in offered)
        page.all("#comparison input")[0].click()
        until(lambda: len(page.all("#comparison .column")) == 3)
        page.choose("mood")
        assert not page.one("#others-too").is_displayed()


@pytest.mark.parametrize("text", [ATTACK, "\u05e9\u05dc\u05d5\u05dd", "\u4f60\u597d", "ab " * 130])
def test_any_text_is_only_text(open_page: tuple[Any, Served], text: str) -> None:
    """Script, right-to-left and Chinese text, and 400 tokens: shown, and nothing runs."""
    browser, served = open_page
    page = Page(browser, served)
    page.write(text)
    for view in ("heat", "best", "threads"):
        page.view(view)
    assert page.is_unhurt
    assert browser.find_elements("css selector", "img:not([src^='/page/'])") == []


def test_a_model_that_writes_script(browser: Any) -> None:
    """An output, a token, an alternative, a source symbol or a name that is HTML stays text."""
    with serving({ATTACK: spoken(untrained("transformer"))}) as served:
        page = Page(browser, served)
        page.write("a")
        page.all("#text .token")[0].click()
        for view in ("heat", "best", "tree", "threads"):
            page.view(view)
            time.sleep(0.2)
        assert page.is_unhurt
        assert page.all("#view b, #view script, #text img") == []


def spoken(model: TextPredictor) -> TextPredictor:
    """The model, whose every symbol is shown as a piece of HTML."""

    class Hostile(TextField):
        def tokens(self, row: Any) -> list[str]:
            return [ATTACK for _ in row]

        def cell(self, row: Any) -> str:
            return ATTACK * len(list(row))

        def decode(self, ids: Any) -> str:
            return self.cell(ids)

    hostile = Hostile(model.target.config, model.target._tokenizer)
    return replace(model, target=hostile, source=hostile)


def test_a_link_brings_back_the_same(open_page: tuple[Any, Served]) -> None:
    browser, served = open_page
    page = Page(browser, served)
    page.write("bca ab")
    address, before = browser.current_url, page.tokens
    again = Page(browser, served, hash_="#" + address.partition("#")[2])
    again.wait()
    assert again.one("#source").get_property("value") == "bca ab"
    assert again.tokens == before


def test_a_server_that_goes_away_and_comes_back(
    browser: Any, models: dict[str, TextPredictor]
) -> None:
    """The page says so, and when it is there again, what was asked for meanwhile is written."""
    with serving(models) as served:
        page = Page(browser, served)
        page.write("abc")
        port, before = served.port, page.tokens
    page.one("#go").click()
    until(lambda: "not answer" in page.one("#status").text)
    assert page.tokens == []
    with serving(models, port=port):
        until(lambda: "back" in page.one("#status").text)
        page.wait()
        until(lambda: page.tokens == before)


def test_the_documentation_is_served_offline(open_page: tuple[Any, Served]) -> None:
    """Every route with its request, every code of an error, and no part wider than a phone."""
    browser, served = open_page
    browser.get(f"{served.address}/docs#limit")
    until(lambda: browser.find_elements("css selector", "#limit"))
    text = browser.find_element("css selector", "main").text
    assert "POST /v1/predict" in text
    assert "curl -s" in text
    document = served.ask("GET", "/openapi.json").json
    for code in document["x-codes"]:
        assert browser.find_elements("id", code)
    own = [line for line in browser.get_log("browser") if served.address in line["message"]]
    assert own == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    """Every address in the page's files is the server's own, or a name that is never fetched."""
    package = Path(__file__).parents[2] / "src" / "seqloom"
    folders = package / "serving" / "page", package / "drawing" / "scripts"
    for file in (each for folder in folders for each in folder.iterdir()):
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "innerHTML" not in text
        assert "insertAdjacent" not in text
