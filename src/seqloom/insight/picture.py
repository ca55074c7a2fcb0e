"""Pictures as files: PNG or SVG by the name's ending, the same bytes for the same picture."""

import io
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.errors import ConfigError, DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["kind_of", "save"]

METADATA = {"png": {"Software": "Seqloom"}, "svg": {"Creator": "Seqloom", "Date": None}}


def kind_of(path: Path) -> str:
    """The kind of picture that a path asks for: png or svg."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise ConfigError(
            f"{path}: a picture is written as PNG or SVG; end its name in .png or .svg"
        )
    return kind


def save(
    path: Path,
    fill: Callable[["Figure"], None],
    *,
    families: Sequence[str] = ("DejaVu Sans",),
    dots: int = 150,
) -> None:
    """Have a figure filled and write it, with `dots` to the inch if it is a PNG."""
    picture = _rendered(kind_of(path), fill, families, dots)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); choose another place"
        ) from error


def _rendered(
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
