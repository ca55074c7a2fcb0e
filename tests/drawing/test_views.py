"""Views: a value is shown by what is registered for its class, in every kind of file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of, write


@dataclass(frozen=True)
class Dots:
    """A value from outside, with what shows it below."""

    names: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"names": list(self.names)}


class MoreDots(Dots):
    """Shown as what it derives from."""


@text_of.register
def dots_text(dots: Dots, width: int = 80) -> str:
    return " & ".join(dots.names)[:width]


@drawing_of.register
def draw_dots(dots: Dots) -> Drawing:
    def fill(figure: Figure, labels: Sequence[str]) -> None:
        for place, label in enumerate(labels):
            figure.text(0.1, 0.1 * place, label)

    return Drawing(dots.names, fill)


@pytest.mark.parametrize("kind", [Dots, MoreDots])
def test_a_value_from_outside_is_written_in_every_kind(kind: type[Dots], tmp_path: Path) -> None:
    """Its values as JSON, its labels in the picture, picture and escaped text on the page."""
    dots = kind(("one", "two"))
    for ending in ("json", "svg", "png", "html"):
        write(dots, tmp_path / f"dots.{ending}", title="<dots>")
    assert json.loads((tmp_path / "dots.json").read_text()) == {"names": ["one", "two"]}
    assert ">two</text>" in (tmp_path / "dots.svg").read_text()
    assert (tmp_path / "dots.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "dots.html").read_text()
    assert "<title>&lt;dots&gt;</title>" in page
    assert ">two</text>" in page
    assert ">one &amp; two</pre>" in page
    assert text_of(dots, 5) == "one &"


def test_a_value_that_nothing_shows_is_named() -> None:
    with pytest.raises(TypeError, match="writes PosixPath as text"):
        text_of(Path("x"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="draws PosixPath"):
        drawing_of(Path("x"))  # type: ignore[arg-type]
