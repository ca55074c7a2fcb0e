"""What a visitor sees is what was written: words, any script, long inputs in parts (S8)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from seqloom.prediction import TextPredictor
from tests.prediction.untrained import untrained
from tests.serving.browsing import Page
from tests.serving.support import Served, serving

pytestmark = pytest.mark.faults

SIZES = [(1280, 800), (390, 844)]
ARABIC = "سلام كتاب بيت جميل"
LIMIT = 12  # items that the short model reads
LONG = "a b c. ab ba cab. x y a b."


def short(model: TextPredictor) -> TextPredictor:
    """A model that reads few items at once."""
    data = model.config.data.model_copy(update={"max_source": LIMIT})
    return replace(model, config=model.config.model_copy(update={"data": data}))


@pytest.fixture(scope="module", name="served")
def served_() -> Iterator[Served]:
    models = {
        "words": untrained("transformer", unit="word"),
        "bytes": untrained("lstm", unit="byte"),
        "arabic": untrained("transformer", texts=[ARABIC]),
        "short": short(untrained("transformer")),
    }
    with serving(models) as server:
        yield server


def labels(page: Page, side: str) -> list[str]:
    """The words of one side of the threads, in the order of the text."""
    return page.texts(f"#view text[data-side={side}]")


def middles(page: Page, selector: str) -> list[float]:
    script = """return [...document.querySelectorAll(arguments[0])].map((each) => {
        const { left, right } = each.getBoundingClientRect(); return (left + right) / 2; })"""
    found: list[float] = page.browser.execute_script(script, selector)
    return found


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_unknown_words_are_shown_as_they_were_typed(
    browser: Any, served: Served, width: int, height: int
) -> None:
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.choose("words")
        page.write("a Zebra b Gnu")
        assert labels(page, "s") == ["a", "Zebra", "b", "Gnu", "⏎"]
        page.view("heat")
        assert page.texts("#view .across text") == ["a", "Zebra", "b", "Gnu", "⏎"]
        assert "<unk>" not in page.one("#view").text


def test_the_bytes_of_a_character_are_one_letter(browser: Any, served: Served) -> None:
    """A thread from a letter has the weight of all its bytes."""
    page = Page(browser, served)
    page.choose("bytes")
    page.write("aé漢")
    assert "".join(labels(page, "s")) == "aé漢⏎"
    assert "0x" not in page.one("#result").text


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_text_from_right_to_left(browser: Any, served: Served, width: int, height: int) -> None:
    """The tokens are set as the text without them would be, letters joined, and threads begin at
    the right."""
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.choose("arabic")
        page.write("بيت")
        (output,) = served.predict("بيت", model="arabic").json["outputs"]
        assert "".join(page.tokens).removesuffix("⏎") == output["text"]
        same = browser.execute_script(
            """const text = document.getElementById("text"), plain = text.cloneNode();
            plain.textContent = arguments[0]; text.after(plain);
            const size = (node) => {
              const range = document.createRange(); range.selectNodeContents(node);
              return range.getBoundingClientRect(); };
            text.querySelector(".end")?.remove();
            const found = [size(text).width, size(plain).width]; plain.remove(); return found;""",
            output["text"],
        )
        assert same[0] == pytest.approx(same[1], abs=1)
        above = middles(page, "#view text[data-side=s]")
        if width > 500:
            assert above == sorted(above, reverse=True)
        page.view("heat")
        columns = middles(page, "#view [data-t='0']")
        assert columns == sorted(columns, reverse=True)


def test_what_is_selected_is_the_text(browser: Any, served: Served) -> None:
    """No mark of the end, no space that nobody wrote."""
    page = Page(browser, served)
    for model, text in (("words", "a b"), ("bytes", "abc"), ("arabic", ARABIC)):
        page.choose(model)
        page.write(text)
        (output,) = served.predict(text, model=model).json["outputs"]
        selected = browser.execute_script(
            "getSelection().selectAllChildren(document.getElementById('text'));"
            "return String(getSelection())"
        )
        assert selected == output["text"]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_long_input_is_read_in_parts(
    browser: Any, served: Served, width: int, height: int
) -> None:
    """The output is that of all parts; each has its own view, and is marked in the input."""
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.choose("short")
        page.write(LONG)
        asked = {"model": "short", "overlong": "split", "attention": True}
        (output,) = served.predict(LONG, **asked).json["outputs"]
        assert output["pieces"] > 1
        assert "".join(page.tokens).replace("⏎", "") == output["text"]
        parts = page.all("#pieces option")
        assert len(parts) == output["pieces"] == len(page.all("#marks .sentence"))
        marked = [each.get_property("textContent") for each in page.all("#marks mark")]
        assert "".join(marked).replace(" ", "") == LONG.replace(" ", "")
        for number, part in enumerate(parts):
            part.click()
            (chosen,) = page.all("#marks .chosen")
            assert chosen.get_property("textContent") == marked[number]
            begin = output["piece_ends"][number - 1][0] if number else 0
            shown = output["source"][begin : output["piece_ends"][number][0]]
            assert len(labels(page, "s")) == len(shown)
        assert not page.one("#unread").is_displayed()


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_what_is_not_read_is_marked(browser: Any, served: Served, width: int, height: int) -> None:
    """Where an input cannot be split, the rest of it is marked where it stands, and counted."""
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.choose("short")
        browser.execute_script(
            "const send = window.fetch; window.fetch = (path, options = {}) => send(path, "
            "{ ...options, body: options.body?.replace('\"split\"', '\"truncate\"') })"
        )
        page.write("abcabcabcabcabcabc")
        (lost,) = page.all("#marks .unread")
        assert lost.get_property("textContent") == "abcabc"
        assert "6 characters" in page.one("#unread").text
        box, source = page.box("#marks .unread"), page.box("#source")
        assert source["left"] <= box["left"]
        assert box["right"] <= source["right"]
        page.one("#source").send_keys("a")
        assert page.all("#marks mark") == []
