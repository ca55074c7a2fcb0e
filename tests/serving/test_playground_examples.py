"""Examples of series, recordings and pictures on a first visit, in a browser (S8)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom
from seqloom.api.train import train
from seqloom.tasks import introduce
from tests.runs.media_runs import options, sound_options
from tests.serving.browsing import Page
from tests.serving.kinds import picture, recording
from tests.serving.support import Served, serving

pytestmark = pytest.mark.faults

SIZES = [(1280, 800), (390, 844)]
QUICK = {"updates": 2, "workers": 1, "curves": False}
WAVE = "time,load,heat\n" + "".join(
    f"{n},{a:.4f},{b:.4f}\n"
    for n, (a, b) in enumerate(np.random.default_rng(1).normal(size=(120, 2)))
)
FORECAST = {"source": {"window": 8}, "target": {"kind": "series", "horizon": 3}, "training": QUICK}
FILES = {"sound": (recording, "wav"), "picture": (picture, "png")}


def make_files(folder: Path, kind: str) -> Path:
    """A table of sixteen files."""
    make, ending = FILES[kind]
    rows = []
    for number in range(16):
        size = 0.3 + 0.02 * number if kind == "sound" else 20 + number
        (folder / f"{number}.{ending}").write_bytes(make(size))  # type: ignore[operator]
        rows.append(f"{number}.{ending}\t{('low', 'high')[number % 2]}\n")
    (folder / f"{kind}.tsv").write_text("".join(rows))
    return folder / f"{kind}.tsv"


@pytest.fixture(scope="module", name="models")
def models_(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("examples")
    (folder / "load.csv").write_text(WAVE)
    seen = options("text", front={"kind": "picture", "widths": [4, 6]}, updates=1, validate_every=1)
    train(folder / "load.csv", folder / "series", options=FORECAST)
    train(
        make_files(folder, "sound"),
        folder / "sound",
        options=sound_options(updates=1, validate_every=1),
    )
    train(make_files(folder, "picture"), folder / "picture", options=seen)
    return {name: seqloom.load(folder / name) for name in ("series", "sound", "picture")}


@pytest.fixture(scope="module", name="served")
def served_(models: dict[str, Any]) -> Iterator[Served]:
    with serving(models) as server:
        yield server


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_what_came_is_drawn_beside_the_forecast(
    browser: Any, served: Served, models: dict[str, Any], width: int, height: int
) -> None:
    """The first window is forecast at once; another is one click, with the server's numbers."""
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.choose("series")
        page.wait()
        known = introduce(models["series"]).examples
        assert len(page.all(".example")) == len(known) == 3
        assert len(page.all("#judged .chart .came")) == 2
        browser.execute_script("document.getElementById('result').dataset.state = ''")
        page.all(".example")[1].click()
        page.wait()
        pressed = [each.get_attribute("aria-pressed") for each in page.all(".example")]
        assert pressed == ["false", "true", "false"]
        body = {"model": "series", "inputs": [known[1].input]}
        (output,) = served.ask("POST", "/v1/predict", body).json["outputs"]
        page.one("#judged summary").click()
        cells = [float(row.text.split()[1]) for row in page.all("#judged tbody tr")]
        assert cells == pytest.approx(output["forecast"]["mean"]["load"], rel=1e-3)
        assert "what came" in page.one("#judged").text
        page.write("time,load,heat\n" + "\n".join(f"{n},1,2" for n in range(9)), into="table")
        assert page.all("#judged .chart")
        assert not page.all("#judged .chart .came")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["sound", "picture"])
def test_a_file_is_there_to_try(
    browser: Any, served: Served, models: dict[str, Any], kind: str, size: tuple[int, int]
) -> None:
    """The first is shown, read and written for at once, beside its reference."""
    page = Page(browser, served)
    with page.on_screen(*size):
        page.choose(kind)
        page.wait()
        known = introduce(models[kind]).examples
        assert len(page.all(".example")) == len(known) == 3
        assert page.one("#heard" if kind == "sound" else "#seen").is_displayed()
        body = {"model": kind, "inputs": [known[0].input]}
        (output,) = served.ask("POST", "/v1/predict", body).json["outputs"]
        assert "".join(page.tokens).removesuffix("⏎").strip() == output["text"].strip()
        assert known[0].reference in page.one("#reference").text
        assert page.box("#result")["top"] < size[1]
