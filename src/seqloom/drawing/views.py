"""Views: a value with its text, its picture and its page.

A value is plain data with `as_dict`. Its renderers are registered for its class: `text_of.register`
for the terminal, `drawing_of.register` for a picture and, if a picture with the text below it is
not enough, `page_of.register` for a page.
"""

import html
import json
from functools import singledispatch
from pathlib import Path
from typing import Any, Protocol

from seqloom.drawing.image_files import Drawing, write_bytes
from seqloom.drawing.page import page
from seqloom.errors import ConfigError

__all__ = [
    "View",
    "drawing_of",
    "fragment_of",
    "has_drawing",
    "page_of",
    "text_details",
    "text_of",
    "write",
]

ENDINGS = (".png", ".svg", ".html", ".json")


class View(Protocol):
    """A value that can be displayed."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        ...


@singledispatch
def text_of(view: View, width: int = 80) -> str:
    """Render a view as lines for a terminal of this width."""
    raise TypeError(f"nothing is registered that writes {type(view).__name__} as text")


@singledispatch
def drawing_of(view: View) -> Drawing:
    """Render a view as a picture."""
    raise TypeError(f"nothing is registered that draws {type(view).__name__}")


@singledispatch
def page_of(view: View, title: str) -> str:
    """Render a view as an HTML file, by default from its fragment."""
    return page(title, [fragment_of(view)])


@singledispatch
def fragment_of(view: View) -> str:
    """Render a view as a part of a page, by default its picture with the text below it."""
    return f"{drawing_of(view).figure(text_of(view))}\n{text_details(view)}"


def has_drawing(view: View) -> bool:
    """Whether a view has a picture."""
    return drawing_of.dispatch(type(view)) is not drawing_of.dispatch(object)


def text_details(view: View) -> str:
    """The text of a view as a collapsible part of a page."""
    text = html.escape(text_of(view))
    return f'<details><summary>As text</summary><pre tabindex="0">{text}</pre></details>'


def write(view: View, path: Path, *, title: str) -> None:
    """Write a view as PNG, SVG, HTML or JSON, by the path's ending."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ConfigError(f"end its name in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}", place=path)
    if ending == ".json":
        text = json.dumps(view.as_dict(), ensure_ascii=False) + "\n"
        write_bytes(path, text.encode())
    elif ending == ".html":
        write_bytes(path, page_of(view, title).encode())
    else:
        drawing_of(view).save(path)
