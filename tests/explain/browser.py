"""A browser without a window, for pages that must work in one."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

__all__ = ["browser", "complaints"]


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """Chromium with its driver; where either is missing the test is skipped, and says so."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no browser: install chromium and chromium-driver to run this test")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1100,1400"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield opened
    finally:
        opened.quit()


def complaints(opened: webdriver.Chrome) -> list[Any]:
    """What the page wrote to the browser's console: errors, and what its policy forbade."""
    found: list[Any] = opened.get_log("browser")  # type: ignore[no-untyped-call]
    return found
