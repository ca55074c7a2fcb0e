"""Image files: PNG or SVG by the name's ending, deterministic to the byte."""

import html
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.drawing.fonts import legible_labels
from seqloom.errors import ConfigError, DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Drawing", "kind_of", "save", "write_bytes"]

LONGEST_LABEL = 200  # characters of alternative text
METADATA = {"png": {"Software": "Seqloom"}, "svg": {"Creator": "Seqloom", "Date": None}}


@dataclass(frozen=True)
class Drawing:
    """A picture to be rendered: its labels, and the function that draws it on a figure.

    `fill` takes the labels in displayable form, in the same order.
    """

    labels: tuple[str, ...]
    fill: Callable[["Figure", Sequence[str]], None]
    dpi: int = 150
    shows_media: bool = False  # whether it shows media, whose colours must not change

    def save(self, path: Path) -> None:
        """Write the picture as PNG or SVG, by the path's ending."""
        write_bytes(path, self.render(kind_of(path)))

    def svg(self) -> str:
        """The picture as inline SVG."""
        text = self.render("svg").decode("utf-8")
        return text[text.index("<svg") :]

    def figure(self, words: str) -> str:
        """The picture in HTML with alternative text; its colours adapt to dark pages, unless it
        shows media.
        """
        label = html.escape(words[:LONGEST_LABEL], quote=True)
        picture = self.svg().replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
        kind = "" if self.shows_media else ' class="drawn"'
        return f'<figure{kind} tabindex="0">{picture}</figure>'

    def render(self, kind: str) -> bytes:
        """Render to a file format."""
        labels, families = legible_labels(self.labels, kind)
        return _render(kind, lambda figure: self.fill(figure, labels), families, self.dpi)


def kind_of(path: Path) -> str:
    """The file format of a path: png or svg."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise ConfigError(
            "a picture is written as PNG or SVG", place=path, remedy="end its name in .png or .svg"
        )
    return kind


def save(
    path: Path,
    fill: Callable[["Figure"], None],
    *,
    families: Sequence[str] = ("DejaVu Sans",),
    dots: int = 150,
) -> None:
    """Draw a figure and write it, with `dots` per inch if it is a PNG."""
    write_bytes(path, _render(kind_of(path), fill, families, dots))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, creating its folders; DataError if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror})", place=path, remedy="choose another place"
        ) from error


def _render(
    kind: str, fill: Callable[["Figure"], None], families: Sequence[str], dots: int
) -> bytes:
    from matplotlib import rc, rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    stream = io.BytesIO()
    with rc_context(), warnings.catch_warnings():
        rc("font", family=list(families))
        rc("text", parse_math=False, usetex=False)
        rc("savefig", bbox="tight", pad_inches=0.15)
        rc("svg", fonttype="none", hashsalt="seqloom")
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure()
        FigureCanvasAgg(figure)
        fill(figure)
        figure.savefig(stream, format=kind, dpi=dots, metadata=METADATA[kind])
    return stream.getvalue()
