"""The playground for pictures, sound, series, labels, tags, gaps and language models, in a
browser."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from seqloom.fields import LabelField
from seqloom.prediction import HeadPredictor
from tests.serving.browsing import Page, until
from tests.serving.kinds import made, picture, recording, series
from tests.serving.support import Served, serving

pytestmark = pytest.mark.faults

SPLIT = {"overlong": "split"}  # as the page asks
ATTACK = "<img src=x onerror=window.hurt=1>"
NAMES = ("caption", "digit", "speech", "mood", "parts", "gaps", "price", "named", "tale", "load")


@pytest.fixture(scope="module", name="served")
def served_() -> Iterator[Served]:
    models = {name: made(name) for name in NAMES}
    mood = models["mood"]
    assert isinstance(mood, HeadPredictor)
    assert isinstance(mood.target, LabelField)
    hostile = LabelField(mood.target.config, [ATTACK, "<b>mild</b>", "warm"])
    with serving({**models, "hostile": replace(mood, target=hostile)}) as server:
        yield server


@pytest.fixture(name="page")
def page_(browser: Any, served: Served) -> Page:
    return Page(browser, served)


def painted(page: Page, selector: str) -> int:
    """How many colours a canvas shows."""
    script = """
        const canvas = document.querySelector(arguments[0]);
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
    """
    return int(page.browser.execute_script(script, selector))


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp"])
def test_a_picture_is_dropped_and_every_word_shows_where_it_looked(page: Page, kind: str) -> None:
    """S3.4, S9: one panel a token, and the picture as the model sees it."""
    page.choose("caption")
    page.drop(picture(kind=kind.upper()), f"one.{kind}", f"image/{kind}")
    page.wait()
    assert page.one("#seen").get_attribute("width") == "16"
    assert painted(page, "#seen") > 1
    panels = page.all("#view figure")
    assert len(panels) == len(page.tokens) > 0
    words = page.all("#view canvas")[0].get_attribute("aria-label")
    assert "most at row" in words
    assert painted(page, "#view canvas") > 2


def test_a_link_holds_a_small_file(page: Page, served: Served) -> None:
    page.choose("caption")
    page.drop(picture(), "one.png", "image/png")
    page.wait()
    address, before = page.browser.current_url, page.tokens
    again = Page(page.browser, served, hash_="#" + address.partition("#")[2])
    again.wait()
    assert again.tokens == before
    assert again.one("#drop-picture").text == "one.png"


def test_a_sound_is_dropped_and_heard(page: Page) -> None:
    """S3.5: its spectrogram, and a strip of weights for each token."""
    page.choose("speech")
    page.drop(recording(), "tone.wav", "audio/wav")
    page.wait()
    assert painted(page, "#heard") > 20
    assert len(page.all("#view .strip")) == len(page.tokens) > 0
    assert "0.5 s" in page.one("#drop-sound").text


def test_a_sound_is_recorded(page: Page) -> None:
    """What the browser records becomes a WAV file that the server reads."""
    page.choose("speech")
    page.browser.execute_script("document.getElementById('result').dataset.state = ''")
    page.one("#record").click()
    until(lambda: "Recording" in page.status)
    page.browser.execute_async_script("setTimeout(arguments[0], 700)")
    page.one("#record").click()
    page.wait()
    assert page.all("#result[data-state=done]"), page.status
    assert painted(page, "#heard") > 20
    assert page.one("#record").text == "Record"


@pytest.mark.parametrize(("model", "name"), [("caption", "one.png"), ("speech", "one.wav")])
def test_a_file_of_another_kind_is_named(page: Page, model: str, name: str) -> None:
    page.choose(model)
    page.drop(b"hello", name, "image/png")
    until(lambda: f"{name} cannot be read" in page.status)
    assert page.all("#status.wrong")


def test_labels_are_bars(page: Page) -> None:
    page.choose("mood")
    page.write("red sun")
    names = [each.text for each in page.all("#judged .other b")]
    assert sorted(names) == ["cold", "mild", "warm"]
    shares = [float(each.text.split()[0]) for each in page.all("#judged .number")]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert shares == sorted(shares, reverse=True)


def test_tags_stand_under_their_words(page: Page) -> None:
    page.choose("parts")
    page.write("red sun moon")
    words = [each.text.split("\n") for each in page.all("#judged .word")]
    assert [word for word, _ in words] == ["red", "sun", "moon"]
    assert {tag for _, tag in words} <= {"ADJ", "NOUN"}


@pytest.mark.parametrize(
    "text",
    ["red  [?] blob [?]", r"\[?] [?] moon", f"{ATTACK} [?]", "old [?]" + 300 * " sun" + " [?]"],
)
def test_gaps_are_filled_in_where_they_are(page: Page, served: Served, text: str) -> None:
    """What was typed stays as it is, with a token for each gap, as HTTP tells it; a text that is
    longer than the model takes is read in parts."""
    page.choose("gaps")
    assert page.one("#go").text == "Fill in"
    assert "[?] where a word is missing" in page.one("#source").get_attribute("placeholder")
    page.write(text)
    answer = served.ask("POST", "/v1/predict", {"model": "gaps", "inputs": [text], **SPLIT})
    (output,) = answer.json["outputs"]
    assert page.one("#text").get_property("textContent") == output["text"]
    shares = [float(page.style(each, "--p")) for each in page.all("#text .token")]
    likely = [math.exp(token["log_probability"]) for token in output["tokens"]]
    assert shares == pytest.approx(likely, abs=1e-3)
    assert page.is_unhurt


def test_the_alternatives_of_a_gap_by_keyboard(page: Page) -> None:
    page.choose("gaps")
    page.write("red [?] sun [?]")
    first, last = page.all("#text .token")
    last.send_keys("\ue007")  # enter
    assert last.get_attribute("aria-expanded") == "true"
    assert page.browser.switch_to.active_element.get_attribute("id") == "others"
    names = [each.text for each in page.all("#others .other b")]
    assert (names[0], sorted(names)) == (last.text, ["moon", "old", "red", "sun"])
    shares = [float(each.text.split()[0]) for each in page.all("#others .number")]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert shares == sorted(shares, reverse=True)
    assert page.all("#others button") == []
    first.click()
    assert [each.get_attribute("aria-expanded") for each in (first, last)] == ["true", "false"]
    first.click()
    assert not page.one("#others").is_displayed()


def test_a_number_is_a_number(page: Page) -> None:
    page.choose("price")
    page.write("red sun")
    assert float(page.one("#judged .figure").text) is not None


def test_a_label_is_chosen_from_a_list(page: Page) -> None:
    page.choose("named")
    assert [each.text for each in page.all("#choice option")] == ["cold", "mild", "warm"]
    page.one("#go").click()
    page.wait()
    assert page.tokens


def test_a_series_is_drawn_with_its_bands(page: Page, served: Served) -> None:
    """S1.2: a chart for each column, and the same numbers as a table."""
    page.choose("load")
    table = series(8)
    lines = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    page.write("\n".join(lines), into="table")
    assert len(page.all("#judged .chart")) == 2
    assert len(page.all("#judged .chart .band")) == 2
    page.one("#judged summary").click()
    rows = [each.text.split() for each in page.all("#judged tbody tr")]
    assert [row[1] for row in rows] == ["08:00", "09:00", "10:00"]
    answer = served.ask("POST", "/v1/predict", {"model": "load", "inputs": [{"series": table}]})
    mean = answer.json["outputs"][0]["forecast"]["mean"]["load"]
    assert [float(row[2]) for row in rows] == pytest.approx(mean, rel=1e-3)


def test_a_series_that_is_too_short_is_refused(page: Page) -> None:
    page.choose("load")
    page.write("time,load,wind\n2026-01-05 00:00,1,2", into="table")
    assert "has 1 rows where the model reads 6" in page.status


def test_a_language_model_goes_on(page: Page) -> None:
    """It draws unless told otherwise; another token is chosen as in any output (S7.2)."""
    page.choose("tale")
    assert page.one("#kind").get_property("value") == "sample"
    assert page.one("#go").text == "Continue"
    page.write("ab")
    assert "".join(page.tokens).startswith("ab")
    page.all("#text .token")[2].click()
    until(lambda: page.all("#others .other"))
    other = next(each for each in page.all("#others .other") if "(end" not in each.text)
    chosen = other.text.splitlines()[0]
    page.browser.execute_script("document.getElementById('result').dataset.state = ''")
    other.click()
    page.wait()
    assert "".join(page.tokens)[:2] == "ab"
    assert page.tokens[2].strip() == chosen.strip()


def test_only_like_models_are_compared(page: Page) -> None:
    page.choose("mood")
    page.write("red sun")
    page.one("#others-too").click()
    until(lambda: page.all("#comparison[data-state=done]"))
    assert [each.text for each in page.all("#comparison h3")] == ["mood", "hostile"]
    page.choose("load")
    assert not page.one("#others-too").is_displayed()


def test_labels_that_are_script_stay_text(page: Page) -> None:
    """RELIABILITY D7, for outputs that are judged."""
    page.choose("hostile")
    page.write("red sun")
    page.one("#others-too").click()
    until(lambda: page.all("#comparison[data-state=done]"))
    assert ATTACK in [each.text for each in page.all("#judged .other b")]
    assert page.is_unhurt
    assert page.all("#judged img, #comparison img, #judged b b") == []


def test_a_table_or_a_name_that_is_script_stays_text(page: Page) -> None:
    page.choose("load")
    page.write(f"time,load,{ATTACK}\n1,2,3", into="table")
    assert page.all("#status.wrong")
    page.choose("caption")
    page.drop(picture(), f"{ATTACK}.png", "image/png")
    page.wait()
    assert ATTACK in page.one("#drop-picture").text
    assert page.is_unhurt


def test_tabs_by_keyboard(page: Page) -> None:
    """The arrow keys go from view to view, and only the chosen tab is in the tab order."""
    page.choose("caption")
    page.drop(picture(), "one.png", "image/png")
    page.wait()
    page.one("#tab-looked").send_keys("\ue014")  # right
    assert page.browser.switch_to.active_element.get_attribute("id") == "tab-best"
    assert page.one("#tab-best").get_attribute("aria-selected") == "true"
    assert page.one("#tab-looked").get_attribute("tabindex") == "-1"
    assert page.one("#view").get_attribute("aria-labelledby") == "tab-best"


@pytest.mark.parametrize("model", NAMES)
def test_a_phone_is_wide_enough(page: Page, model: str) -> None:
    """No part of the page is wider than the screen."""
    with page.on_a_phone():
        page.choose(model)
        if model in ("caption", "digit"):
            page.drop(picture(), "one.png", "image/png")
            page.wait()
        elif model not in ("speech", "load", "named"):
            page.write("red [?]" if model == "gaps" else "red sun")
