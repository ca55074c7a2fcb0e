"""Attention maps: what is accepted, how it lines up in a terminal, what a picture holds."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from seqloom.drawing.fonts import families_for, replace_missing
from seqloom.errors import ConfigError, DataError
from seqloom.explain.plots.attention import draw_attention, render_text
from seqloom.explanations.attention_map import AttentionMap
from tests.explain.pictures import WORKED, pixels, texts


def evenly(source: tuple[str, ...], target: tuple[str, ...]) -> AttentionMap:
    return AttentionMap(source, target, np.full((len(target), len(source)), 1 / len(source)))


def test_rows_of_the_worked_example_sum_to_one() -> None:
    """S10: the attention matrix of the texts."""
    np.testing.assert_allclose(WORKED.weights.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize(
    "weights",
    [
        np.ones((2, 1)),
        np.ones(2),
        np.array([[0.5, 0.4]]),
        np.array([[1.5, -0.5]]),
        np.array([[np.nan, 1.0]]),
        np.array([[np.inf, 0.0]]),
    ],
)
def test_what_is_no_attention_is_refused(weights: np.ndarray) -> None:
    """S9: every row sums to 1."""
    with pytest.raises(DataError, match="attention: "):
        AttentionMap(("a", "b"), ("c",), weights)


def test_nothing_to_show_is_refused() -> None:
    with pytest.raises(DataError):
        AttentionMap((), (), np.ones((0, 0)))


def test_weights_are_copied_and_cannot_change() -> None:
    weights = np.array([[1.0]])
    attention = AttentionMap(("a",), ("b",), weights)
    weights[0, 0] = 5
    assert attention.weights[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        attention.weights[0, 0] = 0


def test_the_worked_example_in_the_terminal() -> None:
    """S10: source across, output down, the darkest block where the weight is."""
    lines = render_text(WORKED, 60).split("\n")
    assert lines[:3] == [
        "              we love deep learning <stop>",
        "nous          ██ ···· ···· ········ ······",
        "aimons        ▒▒ ▒▒▒▒ ···· ░░░░░░░░ ······",
    ]
    assert lines[7] == "<stop>        ·· ···· ···· ········ ██████"


label = st.text(min_size=0, max_size=8) | st.sampled_from(
    ["年", "कि", "شكرا", "e\u0301", "\u0301", "👍"]
)


@given(st.lists(label, min_size=1, max_size=12), st.lists(label, min_size=1, max_size=4))
def test_every_line_is_as_wide_as_its_panel_and_fits(source: list[str], target: list[str]) -> None:
    """Wide, combining and control characters alike: columns stay under their labels."""
    width = 60
    text = render_text(evenly(tuple(source), tuple(target)), width)
    assert all(character.isprintable() or character in "\n\u200c\u200d\u200e" for character in text)
    panels = text.split("\n\n")[:-1]
    assert len(panels) >= 1
    for panel in panels:
        header, *rows = panel.split("\n")
        assert len(rows) == len(target)
        assert all(cell_len(row) == cell_len(header) <= width for row in rows)


def test_a_wide_source_goes_on_below() -> None:
    """Every source token is shown exactly once, in order."""
    source = tuple(f"token{number}" for number in range(40))
    panels = render_text(evenly(source, ("x", "y")), 50).split("\n\n")[:-1]
    shown = [token for panel in panels for token in panel.split("\n")[0].split()]
    assert shown == list(source)


def test_labels_cannot_steer_the_terminal() -> None:
    text = render_text(evenly(("\x1b[31m", " ", "\u202e"), ("\n",)), 60)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "␛[31m ␣ <202E>" in text
    assert "\n␊" in text


def test_a_picture_of_the_worked_example(tmp_path: Path) -> None:
    """S9, S10: source labels on top, output labels on the left, all weights, a bar 0..1."""
    path = tmp_path / "new" / "map.svg"
    draw_attention(WORKED, path)
    written = texts(path)
    assert set(written) >= {*WORKED.source, *WORKED.target, ".93", ".67", ".96", "0.00", "1.00"}
    root = ElementTree.fromstring(path.read_text("utf-8"))
    places = {
        element.text: (float(element.get("x", "nan")), float(element.get("y", "nan")))
        for element in root.iter("{http://www.w3.org/2000/svg}text")
        if element.get("x")
    }
    assert places["nous"][1] < places["aimons"][1] < places["profondeur"][1]
    assert places["nous"][0] < places[".93"][0]


def test_the_same_map_gives_the_same_bytes(tmp_path: Path) -> None:
    for suffix in ("png", "svg"):
        one, two = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
        draw_attention(WORKED, one)
        draw_attention(WORKED, two)
        assert one.read_bytes() == two.read_bytes()


def test_the_darkest_cell_is_the_heaviest(tmp_path: Path) -> None:
    """The picture's darkness in each cell of a map without numbers rises with the weight."""
    from matplotlib.image import imread

    size = 24
    path = tmp_path / "map.png"
    weights = np.eye(size)[::-1]
    draw_attention(AttentionMap(("a",) * size, ("b",) * size, weights), path)
    dark = imread(path)[..., 0] < 0.2
    rows, columns = np.nonzero(dark)
    inside = columns < 0.8 * dark.shape[1]
    slope = np.corrcoef(rows[inside], columns[inside])[0, 1]
    assert slope < -0.9


@pytest.mark.parametrize(
    "source", [("a",), ("年", "月", "日"), ("الجمعة", "مايو"), ("$x$", "_^\\")]
)
def test_any_script_is_drawn_without_a_warning(tmp_path: Path, source: tuple[str, ...]) -> None:
    """Warnings are errors here, so a missing glyph would fail; an SVG keeps the text itself."""
    draw_attention(evenly(source, ("शुक्र",)), tmp_path / "map.png")
    draw_attention(evenly(source, ("शुक्र",)), tmp_path / "map.svg")
    assert set(texts(tmp_path / "map.svg")) >= {*source, "शुक्र"}


def test_two_hundred_tokens_a_side_have_room_for_a_letter_each(tmp_path: Path) -> None:
    size = 200
    draw_attention(AttentionMap(("a",) * size, ("b",) * size, np.eye(size)), tmp_path / "map.png")
    assert all(side >= 14 * size for side in pixels(tmp_path / "map.png"))


def test_a_very_long_source_is_still_a_picture(tmp_path: Path) -> None:
    draw_attention(evenly(("a",) * 3_000, ("b",)), tmp_path / "map.png")
    assert max(pixels(tmp_path / "map.png")) < 12_000


def test_characters_without_a_font_are_named() -> None:
    """Unassigned code points have no glyph anywhere; a font that has a character is found."""
    families, missing = families_for({"a", "\U0003fffd"})
    assert families[0] == "DejaVu Sans"
    assert missing == {"\U0003fffd"}
    assert replace_missing("a\U0003fffd", missing) == "aU+3FFFD"


def test_a_second_font_joins_for_what_the_first_lacks() -> None:
    """matplotlib brings both fonts with it: STIX has a letter here that DejaVu Sans has not."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    def shown(name: str) -> set[int]:
        return set(get_font(findfont(FontProperties(family=name))).get_charmap())

    only_second = next(
        chr(code) for code in sorted(shown("STIXGeneral") - shown("DejaVu Sans")) if code > 0x2100
    )
    families, missing = families_for({"a", only_second})
    assert missing == set()
    assert len(families) == 2


def test_other_suffixes_and_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.png or \.svg"):
        draw_attention(WORKED, tmp_path / "map.jpg")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        draw_attention(WORKED, tmp_path / "file" / "map.png")


def test_matplotlib_waits_until_something_is_drawn() -> None:
    code = "import sys, seqloom.explain; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
