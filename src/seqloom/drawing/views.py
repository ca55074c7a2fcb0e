"""What can be seen: plain values, a readable text, a picture, a page, each from the same data."""

import html
import json
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from seqloom.drawing.image_files import Drawing, write_bytes
from seqloom.drawing.page import page
from seqloom.errors import ConfigError

__all__ = ["PageView", "View", "write"]

ENDINGS = (".png", ".svg", ".html", ".json")


@runtime_checkable
class View(Protocol):
    """Something about a model to look at."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        ...

    def text(self, width: int = 80) -> str:
        """As lines for a terminal so many cells wide."""
        ...

    def drawing(self) -> Drawing:
        """As a picture."""
        ...


@runtime_checkable
class PageView(Protocol):
    """A view that has a page of its own."""

    def page(self, title: str) -> str:
        """The whole HTML file."""
        ...


def write(view: View, path: Path, *, title: str) -> None:
    """Write a view as PNG, SVG, HTML or JSON, by the path's ending."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ConfigError(f"{path}: end its name in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    if ending == ".json":
        text = json.dumps(view.as_dict(), ensure_ascii=False) + "\n"
        write_bytes(path, text.encode())
    elif ending == ".html":
        write_bytes(path, _page(view, title).encode())
    else:
        view.drawing().save(path)


def _page(view: View, title: str) -> str:
    """A view's own page, or its picture with the text below it."""
    if isinstance(view, PageView):
        return view.page(title)
    words = f"<details><summary>As text</summary><pre>{html.escape(view.text())}</pre></details>"
    return page(title, [f"<figure>{view.drawing().svg()}</figure>", words])
