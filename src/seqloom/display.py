"""Values that show themselves in notebooks; how each looks is registered by `drawing/`."""

from functools import cache, singledispatch
from importlib import import_module
from typing import Any

__all__ = ["Displayed", "html_of", "plain_text_of"]

VIEWS = ("seqloom.drawing.notebook", "seqloom.drawing.results", "seqloom.explain.plots")
"""The modules that register how values look."""


@singledispatch
def html_of(value: object) -> str | None:
    """A value as HTML for a notebook; None where nothing that draws it is loaded."""
    return None


@singledispatch
def plain_text_of(value: object) -> str:
    """A value as lines of text; its fields where nothing that writes it is loaded."""
    return repr(value)


@cache
def _load_views() -> None:
    """Import what draws, when the first value is shown: an output that is only read needs none."""
    for name in VIEWS:
        import_module(name)


class Displayed:
    """A value that a notebook shows as HTML, and a terminal and `print` as text."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # IPython takes a class's own __repr__, which every dataclass has, before what it inherits.
        cls._repr_pretty_ = Displayed._repr_pretty_  # type: ignore[method-assign]

    def __str__(self) -> str:
        _load_views()
        return plain_text_of(self)

    def _repr_html_(self) -> str | None:
        _load_views()
        return html_of(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text for IPython, which otherwise shows the fields."""
        printer.text(str(self))
