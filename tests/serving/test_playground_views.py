"""The views of an output in a browser: attention in full, the beam's tree, steps (S8, S9)."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from seqloom.explain import write
from seqloom.explanations.trees import beam_tree
from tests.prediction.untrained import untrained
from tests.serving.browsing import Page, until
from tests.serving.kinds import made
from tests.serving.support import Served, serving

pytestmark = pytest.mark.faults

SIZES = [(1280, 800), (390, 844)]
RIGHT, DOWN = "\ue014", "\ue015"


@pytest.fixture(scope="module", name="served")
def served_() -> Iterator[Served]:
    models = {
        "first": untrained("transformer"),
        "lstm": untrained("lstm"),
        "words": untrained("transformer", unit="word"),
        "mood": made("mood"),
    }
    with serving(models) as server:
        yield server


def pick(page: Page, title: str, value: str) -> None:
    """Choose a value in the chooser of this title, and wait until the view is drawn anew."""
    script = """const [title, value] = arguments;
        const label = [...document.querySelectorAll("#view .chooser")].find(
          (each) => each.firstChild.textContent === title);
        const select = label.querySelector("select");
        select.value = value; select.dispatchEvent(new Event("change")); label.id = "old";"""
    until(lambda: title in [each.text for each in page.all("#view .chooser span")])
    page.browser.execute_script(script, title, value)
    until(lambda: not page.all("#old") and page.all("#view .chooser"))


def cells(page: Page) -> list[float]:
    """The opacity of each cell of the heat map, row by row."""
    script = """return [...document.querySelectorAll("#view .cell")].map(
        (each) => Number(each.getAttribute("fill-opacity")))"""
    found: list[float] = page.browser.execute_script(script)
    return found


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_attention_in_full(browser: Any, served: Served, width: int, height: int) -> None:
    """The cells are the weights that the server has for the kind, the layer and the head."""
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.write("cab")
        page.view("heat")
        until(lambda: page.all("#view .cell"))
        tokens = [each["text"] for each in served.predict("cab").json["outputs"][0]["tokens"]]
        for of in ("cross", "encoder", "decoder"):
            pick(page, "From", of)
            for heads in ("2", "max"):
                pick(page, "Heads", heads)
                more = {"head": 2} if heads == "2" else {"pool": "max"}
                body = {"input": "cab", "tokens": tokens, "of": of, **more}
                found = served.ask("POST", "/v1/look", body).json["look"]
                weights = [weight for row in found["weights"] for weight in row]
                assert cells(page) == pytest.approx([0.05 + 0.95 * w for w in weights], abs=2e-3)
        pick(page, "From", "cross")


@pytest.mark.parametrize(
    ("method", "size"), [("gradient", SIZES[0]), ("integrated", SIZES[1]), ("erasure", SIZES[1])]
)
def test_what_mattered_on_demand(
    browser: Any, served: Served, method: str, size: tuple[int, int]
) -> None:
    """What speaks against an output has another colour than what speaks for it."""
    page = Page(browser, served)
    with page.on_screen(*size):
        for model in ("first", "mood"):
            page.choose(model)
            page.write("a" if model == "first" else "red old sun")
            page.view("heat")
            pick(page, "Show", method)
            against, every = page.all("#view .cell.against"), page.all("#view .cell")
            body: dict[str, Any] = {"model": model, "show": "attribution", "method": method}
            if model == "first":
                (output,) = served.predict("a").json["outputs"]
                body |= {"input": "a", "tokens": [each["text"] for each in output["tokens"]]}
            else:
                body |= {"input": "red old sun"}
            found = served.ask("POST", "/v1/look", body).json["look"]
            own = [weight for row in found["weights"] for weight in row[: len(found["source"])]]
            assert len(every) == len(own)
            assert len(against) == sum(weight < 0 for weight in own)
            pick(page, "Show", "attention")


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("count", [3, 20, 60])
def test_threads_and_heat_map_stay_readable(
    browser: Any, served: Served, width: int, height: int, count: int
) -> None:
    """No name overlaps another, all letters are 12 pixels or more, and the names of a heat map
    stay in view while it is scrolled."""
    page = Page(browser, served)
    words = ["a", "cab", "abc", "ba"]
    with page.on_screen(width, height):
        page.choose("words")
        page.write(" ".join(words[number % 4] for number in range(count)))
        page.view("threads")
        until(lambda: len(page.all("#view text[data-side=s]")) == count + 1)
        assert overlaps(page, "#view text[data-side=s]") == 0
        assert overlaps(page, "#view text[data-side=t]") == 0
        box = page.box("#view svg")
        assert box["right"] <= width
        page.view("heat")
        until(lambda: page.all("#view .cell"))
        size = page.box("#view .cell")
        assert size["width"] >= 12
        page.browser.execute_script("document.querySelector('.heat').scrollTo(9999, 9999)")
        left, heat = page.box("#view .down"), page.box("#view .heat")
        assert left["left"] == pytest.approx(heat["left"], abs=2)
        sizes = page.browser.execute_script(
            "return [...document.querySelectorAll('#view text')].map("
            "(each) => parseFloat(getComputedStyle(each).fontSize))"
        )
        assert min(sizes) >= 12


def overlaps(page: Page, selector: str) -> int:
    """How many of these elements lie on another one."""
    script = """const all = [...document.querySelectorAll(arguments[0])].map(
          (each) => each.getBoundingClientRect());
        return all.filter((one, n) => all.slice(n + 1).some((other) =>
          one.left < other.right - 2 && other.left < one.right - 2
          && one.top < other.bottom - 6 && other.top < one.bottom - 6)).length"""
    found: int = page.browser.execute_script(script, selector)
    return found


def test_a_heat_map_is_read_with_the_keyboard(browser: Any, served: Served) -> None:
    """One stop of the tab key; the arrows move from cell to cell, and the line below tells each."""
    page = Page(browser, served)
    page.write("cab")
    page.view("heat")
    until(lambda: page.all("#view .cell"))
    box = page.one("#view .heat")
    box.send_keys(RIGHT, RIGHT, DOWN)
    asked = served.predict("cab", attention=True).json["outputs"][0]
    weight = asked["attention"][1][1]
    told = page.one("#view [role=status]").text
    assert "→ a:" in told
    assert f"{100 * weight:.{1 if weight < 0.1 else 0}f} %" in told


def grown(served: Served, text: str, width: int) -> list[dict[str, Any]]:
    """The tree that the page asks for."""
    asked = {"model": "words", "search": {"kind": "beam", "width": width}, "tree": True}
    tree: list[dict[str, Any]] = served.predict(text, **asked).json["outputs"][0]["tree"]
    return tree


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_beams_tree(browser: Any, served: Served, width: int, height: int) -> None:
    """Every path that was kept is there with its probability, what was dropped is counted and can
    be unfolded, and 14 words fit into two screens."""
    page = Page(browser, served)
    text = "a b c ab ba abc cab x"
    with page.on_screen(width, height):
        page.choose("words")
        page.write(text)
        page.view("tree")
        until(lambda: page.all("#view .node"))
        tree = grown(served, text, 5)
        kept = [each for each in tree if each["fate"] != "pruned"]
        assert len(page.all("#view .node")) == len(kept)
        assert len(page.all("#view .chance")) == len(kept) - 1
        assert len(page.all("#view .best")) >= 14
        box = page.box("#view .beam")
        assert box["height"] <= 2 * height
        assert box["right"] <= width
        assert overlaps(page, "#view .node > text") == 0
        pruned = [each["parent"] for each in tree if each["fate"] == "pruned"]
        assert sorted(each.text for each in page.all("#view .fold")) == sorted(
            f"+{pruned.count(number)}" for number in set(pruned)
        )
        fold = page.all("#view .fold")[0]
        number = int(fold.get_attribute("data-number"))
        browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click'))", fold)
        assert len(page.all("#view .dropped")) == pruned.count(number)
        assert page.one("#view .fold:focus").get_attribute("aria-expanded") == "true"


def test_the_tab_of_a_linked_view_is_in_sight(browser: Any, served: Served) -> None:
    page = Page(browser, served)
    with page.on_screen(390, 844):
        page.write("cab")
        page.view("steps")
        address = browser.current_url
        again = Page(browser, served, hash_="#" + address.partition("#")[2])
        again.wait()
        until(lambda: again.all("#view .lens"))
        tab = again.box("#tab-steps")
        assert tab["left"] >= 0
        assert tab["right"] <= 390


def test_the_search_is_replayed(browser: Any, served: Served) -> None:
    """The slider begins with the start, and each step adds the paths that were kept then."""
    page = Page(browser, served)
    page.choose("words")
    page.write("a b")
    page.view("tree")
    until(lambda: page.all("#view .node"))
    tree = grown(served, "a b", 5)
    steps = {0: 0}
    for each in tree[1:]:
        steps[each["number"]] = steps[each["parent"]] + 1
    kept = [steps[each["number"]] for each in tree if each["fate"] != "pruned"]
    slider = page.one("#view input[type=range]")
    slider.send_keys("\ue011")  # Home
    assert len(page.all("#view .node")) == 1
    assert "The start" in page.one("#view output").text
    for step in range(1, max(kept) + 1):
        slider.send_keys(RIGHT)
        assert len(page.all("#view .node")) == sum(each <= step for each in kept)
        assert f"{kept.count(step)} kept" in page.one("#view output").text


def test_a_page_of_look_has_the_same_tree(browser: Any, served: Served, tmp_path: Any) -> None:
    tree = beam_tree(untrained("transformer", unit="word"), "a b", width=5, expansions=10)
    write(tree, tmp_path / "tree.html", title="a tree")
    browser.get((tmp_path / "tree.html").as_uri())
    shown = browser.find_elements("css selector", "#view .node")
    assert len(shown) == sum(each.fate != "pruned" for each in tree.branches)
    assert [line for line in browser.get_log("browser") if "tree.html" in line["message"]] == []


def step_to(page: Page, place: int) -> None:
    """Move the slider of the model's steps, as its arrow keys do."""
    slider = page.one("#view input[type=range]")
    slider.send_keys("\ue011")
    slider.send_keys(RIGHT * place) if place else None


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_recurrent_model_step_by_step(
    browser: Any, served: Served, width: int, height: int
) -> None:
    """A square for each cell of the state and of the gates, as deep as its value; the line of each
    step says what is read and written."""
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.choose("lstm")
        page.write("cab")
        page.view("steps")
        until(lambda: page.all("#view .grid"))
        (output,) = served.predict("cab", model="lstm").json["outputs"]
        tokens = [each["text"] for each in output["tokens"]]
        at = "decoder layer 1 forward"
        body = {"model": "lstm", "input": "cab", "tokens": tokens, "show": "steps", "at": at}
        found = served.ask("POST", "/v1/look", body).json["look"]
        tables = {**found["unit"]["states"], **found["unit"]["gates"]}
        assert len(page.all("#view .grid")) == len(tables) == 5
        for place in (0, len(tokens) - 1):
            step_to(page, place)
            assert f"Step {place + 1} of {len(tokens)}" in page.one("#view output").text
            shown = browser.execute_script(
                "return [...document.querySelectorAll('#view .grid')].map((grid) => "
                "[...grid.children].map((each) => Number(each.getAttribute('fill-opacity'))"
                " * (each.classList.contains('against') ? -1 : 1)))"
            )
            for squares, (name, table) in zip(shown, tables.items(), strict=True):
                most = (
                    1
                    if name in found["unit"]["gates"]
                    else max(abs(value) for row in table for value in row)
                )
                wanted = [abs(value) / most for value in table[place]]
                assert [abs(each) for each in squares] == pytest.approx(
                    [0.05 + 0.95 * value for value in wanted], abs=2e-3
                )
        best = found["steps"][-1]["best"][0]
        share = math.exp(best["log_probability"])
        assert f"{100 * share:.{1 if share < 0.1 else 0}f} %" in page.one("#view").text


@pytest.mark.parametrize("size", SIZES)
def test_a_transformer_step_by_step(browser: Any, served: Served, size: tuple[int, int]) -> None:
    """The guess of each layer at each step, the norm of its stream, and a head switched off."""
    page = Page(browser, served)
    with page.on_screen(*size):
        page.write("cab")
        page.view("steps")
        until(lambda: page.all("#view .lens"))
        (output,) = served.predict("cab").json["outputs"]
        tokens = [each["text"] for each in output["tokens"]]
        body: dict[str, Any] = {"input": "cab", "tokens": tokens, "show": "steps"}
        found = served.ask("POST", "/v1/look", body).json["look"]
        guesses = [each.text for each in page.all("#view .lens td[title]")]
        assert len(guesses) == len(tokens)
        assert f"{found['norms']['decoder'][0][0]:.2f}" in page.one("#view .norms").text
        button = next(each for each in page.all(".switches button") if each.text == "head 1")
        button.click()
        until(lambda: page.all("#view .follows"))
        body["off"] = [{"of": "cross", "layer": 1, "head": 1}]
        follows = served.ask("POST", "/v1/look", body).json["look"]["follows"]["text"]
        assert page.one("#view .follows").text.split() == follows.split()
        next(each for each in page.all(".switches button") if each.text.endswith("×")).click()
        until(lambda: not page.all("#view .follows"))


@pytest.mark.parametrize("size", SIZES)
def test_a_word_is_changed_and_an_output_forced(
    browser: Any, served: Served, size: tuple[int, int]
) -> None:
    page = Page(browser, served)
    with page.on_screen(*size):
        page.choose("lstm")
        page.write("cab")
        page.view("steps")
        until(lambda: page.all("#view .grid"))
        step_to(page, 0)
        choices = page.all("#view button.other")
        wanted = choices[1].text.splitlines()[0]
        browser.execute_script("document.getElementById('result').dataset.state = ''")
        choices[1].click()
        page.wait()
        assert page.tokens[0].strip() == wanted.strip("␣")
        until(lambda: page.all("#view .diagram .now"))
        step_to(page, 0)
        assert wanted in [each.text for each in page.all("#view .diagram .now")]
        pick(page, "Part", "encoder layer 1 forward")
        step_to(page, 1)
        until(lambda: "reads a" in page.one("#view output").text)
        field = page.one("#view form input")
        field.clear()
        field.send_keys("b")
        browser.execute_script("document.getElementById('result').dataset.state = ''")
        page.one("#view form button").click()
        page.wait()
        assert page.one("#source").get_property("value") == "cbb"
        pick(page, "Part", "decoder layer 1 forward")


LIT = """const lit = [...document.querySelectorAll("#view .diagram .arrow")].map(
    (each) => each.classList.contains("lit"));
  const now = [...document.querySelectorAll("#view .diagram .now")];
  return [lit, now.map((each) => each.dataset.name)]"""


def is_lit(browser: Any, arrows: list[bool]) -> bool:
    """Whether these arrows of the net are lit and no others."""
    found: list[bool] = browser.execute_script(LIT)[0]
    return found == arrows


def says(page: Page, words: str) -> bool:
    """Whether the view has these words."""
    return words in page.one("#view").text


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_net_beside_the_steps(browser: Any, served: Served, width: int, height: int) -> None:
    """S9: at each step the edges into its values are lit and no others, and its boxes are in sight;
    with every head off, what was attended to counts no more."""
    page = Page(browser, served)
    with page.on_screen(width, height):
        page.write("a")
        page.view("steps")
        until(lambda: page.all("#view .diagram .lit"))
        (output,) = served.predict("a").json["outputs"]
        tokens = [each["text"] for each in output["tokens"]]
        body: dict[str, Any] = {"input": "a", "tokens": tokens, "show": "net"}
        for place in (1, len(tokens) - 1)[width < 500 :]:
            step_to(page, place)
            asked = {**body, "side": "decoder", "step": place}
            net = served.ask("POST", "/v1/look", asked).json["look"]["unrolled"]
            heads = [
                ["decoder", place] in net["boxes"][each["end"]]["steps"] for each in net["arrows"]
            ]
            until(partial(is_lit, browser, heads))
            names = browser.execute_script(LIT)[1]
            assert names
            assert all(name.startswith("decoder.") and name.endswith(f" {place}") for name in names)
            box, room = page.box("#view .diagram .now"), page.box("#view .beside .scroller")
            assert room["left"] <= box["left"] <= box["right"] <= room["right"]
        if width < 500:
            return
        for head in ("head 1", "head 2"):
            next(each for each in page.all(".switches button") if each.text == head).click()
            until(partial(says, page, f"{head}, layer"))
        until(lambda: page.all("#view .diagram .box.off"))
        attended = page.all("#view .diagram .arrow[data-kind=attention]")
        assert attended
        assert all("off" in each.get_attribute("class").split() for each in attended)
        page.browser.refresh()  # what is off is on again
