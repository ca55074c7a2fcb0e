"""The playground in Chromium, as a visitor sees it.

It needs Chromium, its driver and selenium; tests are skipped, with a notice, where one is missing.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.serving.support import Served

__all__ = ["Page", "browser", "until"]

PATIENCE = 60.0  # seconds; a busy machine may take its time
PHONE = 360  # pixels across
PHONES = 500  # screens that are narrower are those of phones
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--window-size=1100,1000",
    "--use-fake-ui-for-media-stream",  # a microphone that beeps
    "--use-fake-device-for-media-stream",
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="the playground's test needs selenium"
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("the playground's test needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(argument)
    options.binary_location = chromium
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


def until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, "it never happens"
        time.sleep(0.05)


class Page:
    """What a visitor does and sees."""

    def __init__(self, browser: Any, served: Served, hash_: str = "") -> None:
        self.browser = browser
        browser.get("about:blank")
        browser.get(f"{served.address}/{hash_}")
        until(lambda: self.all("#model option"))

    def one(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.browser.find_elements("css selector", selector)
        return found

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements at one moment: a view may be drawn anew between two calls."""
        script = "return [...document.querySelectorAll(arguments[0])].map(each => each.textContent)"
        found: list[str] = self.browser.execute_script(script, selector)
        return found

    def choose(self, model: str) -> None:
        """Take another model."""
        self.browser.execute_script(
            "const chooser = document.getElementById('model');"
            "chooser.value = arguments[0]; chooser.dispatchEvent(new Event('change'));",
            model,
        )

    def write(self, text: str, *, into: str = "source") -> None:
        """Type it and wait for the whole output."""
        self.browser.execute_script(
            "document.getElementById('result').dataset.state = '';"
            "document.getElementById(arguments[1]).value = arguments[0];",
            text,
            into,
        )
        self.one("#go").click()
        self.wait()

    def drop(self, content: bytes, name: str, kind: str) -> None:
        """Let a file fall on the page."""
        script = """
            const [content, name, type] = arguments;
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([new Uint8Array(content)], name, { type }));
            document.getElementById("result").dataset.state = "";
            document.getElementById("ask").dispatchEvent(new DragEvent("drop", { dataTransfer }));
        """
        self.browser.execute_script(script, list(content), name, kind)

    def wait(self) -> None:
        until(lambda: self.all("#result[data-state=done]") or self.all("#status.wrong"))

    def view(self, name: str) -> None:
        self.one(f"[data-view={name}]").click()

    @contextmanager
    def on_a_phone(self) -> Iterator[None]:
        """On a narrow screen, where no part of the page may be wider than it."""
        with self.on_screen(PHONE, 740):
            yield

    @contextmanager
    def on_screen(self, width: int, height: int) -> Iterator[None]:
        """On a screen of this size, which no part of the page may be wider than."""
        phone = width < PHONES
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            yield
            wide = self.browser.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width
        finally:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def box(self, selector: str) -> dict[str, float]:
        """Where an element lies on the screen."""
        found: dict[str, float] = self.browser.execute_script(
            "return arguments[0].getBoundingClientRect().toJSON()", self.one(selector)
        )
        return found

    def style(self, element: Any, name: str) -> str:
        """A value of an element's style."""
        script = "return arguments[0].style.getPropertyValue(arguments[1])"
        return str(self.browser.execute_script(script, element, name))

    @property
    def status(self) -> str:
        return str(self.one("#status").text)

    @property
    def tokens(self) -> list[str]:
        return self.texts("#text .token")

    @property
    def is_unhurt(self) -> bool:
        """Whether no script of a stranger has run."""
        return self.browser.execute_script("return window.hurt") is None
