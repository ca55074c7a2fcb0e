"""Conversations in the playground, in a browser (S8)."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.serving.browsing import Page, until
from tests.serving.kinds import made
from tests.serving.support import Served, serving

pytestmark = pytest.mark.faults

ATTACK = "<img src=x onerror=window.hurt=1>"
ENTER = "\ue007"
GROWING = """
    window.grown = [];
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) {
        for (const node of addedNodes) window.grown.push(node.querySelector("span").textContent);
      }
    }).observe(document.getElementById("thread"), { childList: true });
"""


@pytest.fixture(scope="module", name="served")
def served_() -> Iterator[Served]:
    with serving({name: made(name) for name in ("chat", "tone")}) as server:
        yield server


@pytest.fixture(name="page")
def page_(browser: Any, served: Served) -> Page:
    page = Page(browser, served)
    page.browser.execute_script("document.getElementById('kind').value = 'greedy'")
    return page


def said(page: Page) -> list[tuple[str, str]]:
    """Who says what."""
    parts = [turn.find_elements("css selector", "b, span") for turn in page.all("#thread .turn")]
    return [(who.text, text.get_property("textContent")) for who, text in parts]


def reply(served: Served, *turns: str) -> str:
    body = {"model": "chat", "inputs": [list(turns)], "search": {"kind": "greedy"}}
    (output,) = served.ask("POST", "/v1/predict", body).json["outputs"]
    return str(output["text"])


def test_every_reply_is_one_to_all_that_was_said(page: Page, served: Served) -> None:
    assert page.one("#go").text == "Send"
    page.write("ab", into="line")
    first = reply(served, "ab")
    assert said(page) == [("You", "ab"), ("Model", first)]
    assert page.one("#line").get_property("value") == ""
    page.write("cd ef", into="line")
    second = reply(served, "ab", first, "cd ef")
    assert said(page)[2:] == [("You", "cd ef"), ("Model", second)]
    assert second != reply(served, "cd ef")
    page.view("heat")
    assert len(page.all("#view .cell")) % len(page.tokens) == 0


def test_a_reply_appears_token_by_token(page: Page, served: Served) -> None:
    """By the enter key; it grows, and what was said before is not touched."""
    page.browser.execute_script(GROWING)
    page.one("#line").send_keys("ab", ENTER)
    page.wait()
    grown = page.browser.execute_script("return window.grown")
    whole = reply(served, "ab")
    assert grown[0] == "ab"
    assert grown[-1] == whole
    assert len(grown) > 3
    assert all(whole.startswith(part) for part in grown[1:])
    assert page.one("#thread").get_attribute("aria-busy") == "false"


def test_it_begins_anew(page: Page, served: Served) -> None:
    page.write("ab", into="line")
    page.one("#clear").click()
    assert said(page) == []
    assert not page.one("#result").is_displayed()
    assert page.browser.switch_to.active_element.get_attribute("id") == "line"
    page.write("cd", into="line")
    assert said(page) == [("You", "cd"), ("Model", reply(served, "cd"))]


def test_another_token_changes_the_reply(page: Page) -> None:
    """The rest is written anew, and the next line is said after that."""
    page.write("ab", into="line")
    page.all("#text .token")[0].click()
    until(lambda: page.all("#others .other"))
    page.browser.execute_script("document.getElementById('result').dataset.state = ''")
    page.all("#others .other")[1].click()
    page.wait()
    (_, text) = said(page)[1]
    assert text == "".join(page.tokens).removesuffix("⏎")
    page.write("cd", into="line")
    assert said(page)[:2] == [("You", "ab"), ("Model", text)]


def test_a_line_that_cannot_be_sent_is_given_back(page: Page, served: Served) -> None:
    page.write("ab", into="line")
    before = said(page)
    line = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.browser.execute_cdp_cmd("Network.enable", {})
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", line)
    try:
        page.one("#line").send_keys("cd", ENTER)
        until(lambda: page.all("#status.wrong"))
        assert said(page) == before
        assert page.one("#line").get_property("value") == "cd"
    finally:
        online = {**line, "offline": False}
        page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", online)
    until(lambda: "back" in page.status)
    page.browser.execute_script("document.getElementById('result').dataset.state = ''")
    page.one("#line").send_keys(ENTER)
    page.wait()
    assert said(page) == [
        *before,
        ("You", "cd"),
        ("Model", reply(served, "ab", before[1][1], "cd")),
    ]


def test_a_link_holds_the_conversation(browser: Any, served: Served) -> None:
    """Script in it stays text; of more than the server takes, the newest turns are sent."""
    turns = ["ab " * 1_500, ATTACK, "cd " * 1_000]
    known = {"model": "chat", "kind": "greedy", "turns": json.dumps(turns)}
    page = Page(browser, served, f"#{quote(json.dumps(known))}")
    page.wait()
    assert page.all("#result[data-state=done]"), page.status
    assert [text for _, text in said(page)] == [*turns, reply(served, *turns[1:])]
    assert page.is_unhurt
    assert page.all("#thread img") == []


@pytest.mark.parametrize("turns", ["{", "1", '[1, {"a": 2}]'])
def test_a_link_with_something_else_is_no_conversation(
    browser: Any, served: Served, turns: str
) -> None:
    known = {"model": "chat", "turns": turns}
    page = Page(browser, served, f"#{quote(json.dumps(known))}")
    assert said(page) == []
    page.write("ab", into="line")
    assert [who for who, _ in said(page)] == ["You", "Model"]


def test_turns_can_be_judged(page: Page, served: Served) -> None:
    """Every line is a turn, and the label is that of all of them."""
    page.choose("tone")
    page.write("ab", into="line")
    page.write("cd", into="line")
    assert said(page) == [("Turn 1", "ab"), ("Turn 2", "cd")]
    body = {"model": "tone", "inputs": [["ab", "cd"]]}
    (output,) = served.ask("POST", "/v1/predict", body).json["outputs"]
    assert page.all("#judged .other b")[0].text == output["text"]


def test_a_phone_is_wide_enough(page: Page) -> None:
    """No part of the page is wider than the screen, however long a word is."""
    with page.on_a_phone():
        page.write("ab" * 200, into="line")
