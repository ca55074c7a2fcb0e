"""The page of a training: what it shows in a browser, and who may stop the training."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.store import RunDirectory
from tests.runs.support import options, trained
from tests.serving.browsing import browser, until
from tests.serving.watched import KEY, watching

__all__ = ["browser"]


def test_only_who_has_the_key_may_stop(tmp_path: Path) -> None:
    with watching(tmp_path) as served:
        for headers in ({}, {"x-seqloom-key": "wrong"}):
            answer = served.ask("POST", "/v1/request", {"action": "stop"}, headers)
            assert answer.status == 403
            assert RunDirectory(tmp_path).take_request() == ""
        known = {"x-seqloom-key": KEY}
        assert served.ask("POST", "/v1/request", {"action": "nap"}, known).status == 422
        assert served.ask("POST", "/v1/request", {"action": "stop"}, known).status == 204
        foreign = {**known, "origin": "http://elsewhere.example"}
        assert served.ask("POST", "/v1/request", {"action": "stop"}, foreign).status == 403
    assert RunDirectory(tmp_path).take_request() == "stop"


def test_what_is_not_there(tmp_path: Path) -> None:
    """A run that has not begun, steps and pictures that are not there: no server error."""
    with watching(tmp_path / "run") as served:
        assert served.ask("GET", "/v1/run").json["begun"] is False
        assert served.ask("GET", "/v1/steps/3").status == 404
        assert served.ask("GET", "/page/../../etc/passwd").status == 404
        assert served.ask("GET", "/v1/events?after=x").status == 422
        assert served.ask("GET", "/", headers={"host": "elsewhere.example"}).status == 403


def test_the_page_in_a_browser(browser: Any, tmp_path: Path) -> None:
    """Curves, examples and attention are there; buttons only for who has the key; no overflow."""
    trained(tmp_path / "run", options("lstm", samples=2, updates=60, validate_every=20))
    with watching(tmp_path / "run") as served:

        def find(selector: str) -> Any:
            return browser.find_element("css selector", selector)

        browser.get(served.address)
        until(lambda: find("body").get_attribute("data-state") == "shown")
        assert not find("#controls").is_displayed()
        assert "update 60 of 60" in find("#figures").text
        captions = [each.text for each in browser.find_elements("css selector", "figcaption b")]
        assert captions[0] == "Loss"
        assert "Gradient norm" in captions
        assert len(browser.find_elements("css selector", "#samples dt")) == 2
        script = "return document.querySelector('#pictures img').naturalWidth"
        until(lambda: browser.find_elements("css selector", "#pictures img"))
        until(lambda: browser.execute_script(script) > 100)
        assert "forget" in find("#gates").text
        size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.get("about:blank")
        browser.get(f"{served.address}/#{KEY}")
        until(lambda: find("#stop").is_displayed())
        find("#stop").click()
        until(lambda: "saves and stops" in find("#told").text)
    assert RunDirectory(tmp_path / "run").take_request() == "stop"


def test_markup_in_the_data_stays_text(browser: Any, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    trained(tmp_path, options(updates=2, validate_every=2))
    bad = "<img src=x onerror=document.title='broken'>"
    sample = {"source": bad, "reference": bad, "output": bad}
    run.append_event({"event": "validation", "step": 2, "loss": 1.0, "samples": [sample]})
    with watching(tmp_path) as served:
        browser.get(served.address)
        until(lambda: bad in browser.find_element("css selector", "#samples").text)
        assert browser.find_elements("css selector", "#samples img") == []
        assert "broken" not in browser.title


pytestmark = pytest.mark.faults
