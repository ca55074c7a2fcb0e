"""Times the first result of the playground in Chromium, and weighs the page.

    python bench/playground.py RUN [--rounds 9]

A server of the run is started, and a browser without a window opens the page so many times, the
first time uncounted. The time is that from the browser's load event to the first output on the
screen, which the page writes by itself for a held-out example; aim: 300 ms. The weight is that of
all files of the page before compression; aim: 400 kB. Both are printed, with their conditions.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from foundation import surroundings
from selenium import webdriver
from serve import server

WATCH = """new MutationObserver(() => {
  const done = document.getElementById("result")?.dataset.state === "done";
  if (done) window.firstResult ??= performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true });"""
ASK = """const [page] = performance.getEntriesByType("navigation");
const all = performance.getEntriesByType("resource");
const files = all.filter(({ name }) => name.includes("/page/"));
return [window.firstResult - page.loadEventEnd, window.firstResult,
  files.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, page.decodedBodySize)];"""
PATIENCE = 60  # seconds


def browser(profile: str) -> Any:
    """Chromium without a window."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={profile}")
    options.binary_location = shutil.which("chromium") or ""
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def visit(opened: Any, address: str) -> tuple[float, float, int]:
    """Milliseconds from the load event and from the start to the first result, and bytes."""
    opened.get("about:blank")
    opened.get(address)
    end = time.monotonic() + PATIENCE
    while not opened.execute_script("return window.firstResult"):
        if time.monotonic() > end:
            raise SystemExit("bench/playground.py: the page shows no result")
        time.sleep(0.02)
    after, whole, weight = opened.execute_script(ASK)
    return after, whole, weight


def main() -> None:
    """Open the page again and again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as profile, server(given.run) as port:
        opened = browser(profile)
        try:
            opened.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            visits = [visit(opened, f"http://127.0.0.1:{port}/") for _ in range(given.rounds + 1)]
        finally:
            opened.quit()
    after, whole, weights = zip(*visits[1:], strict=True)
    found = {
        "ms after load": round(statistics.median(after), 1),
        "slowest": round(max(after), 1),
        "ms in all": round(statistics.median(whole), 1),
        "bytes": max(weights),
        "surroundings": surroundings(),
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
