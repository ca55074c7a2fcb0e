"""Pictures as pixels: opened within limits, flattened on white, scaled (S3.4)."""

import warnings
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.fields.items import Pixels

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["MOST_PIXELS", "UPLOAD_FORMATS", "PictureFile", "fit_picture", "read_picture"]

MOST_PIXELS = 80_000_000  # most pixels of a file, before scaling
UPLOAD_FORMATS = (
    "PNG",
    "JPEG",
    "GIF",
    "WEBP",
    "BMP",
)  # formats of uploads: none that can run code


class PictureFile(NamedTuple):
    """A picture file, its name in errors, and its allowed formats."""

    file: str | BytesIO
    name: str
    most: int = MOST_PIXELS
    formats: tuple[str, ...] | None = None  # None: all that pillow knows

    @classmethod
    def from_cell(cls, cell: str) -> Self:
        """The file that a cell names."""
        return cls(cell.strip(), cell)


def read_picture(opening: PictureFile, wanted: Pixels) -> NDArray[np.uint8]:
    """Read the pixels of a file as a flat array; DataError if it is not a picture."""
    with _open_picture(opening) as file:
        file.draft("RGB", (wanted.width, wanted.height))
        picture = _on_white(file, opening.name)
    return fit_picture(picture, wanted)


def fit_picture(picture: "Image", wanted: Pixels) -> NDArray[np.uint8]:
    """Scale and centre a picture on a white page: channels, then rows, then columns."""
    from PIL import Image

    size = wanted.width, wanted.height
    picture.thumbnail(size, Image.Resampling.BOX)
    scale = min(size[0] / picture.width, size[1] / picture.height)
    fitting = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    if fitting != picture.size:
        picture = picture.resize(fitting, Image.Resampling.BILINEAR)
    page = Image.new("RGB", size, "white")
    page.paste(picture, ((size[0] - fitting[0]) // 2, (size[1] - fitting[1]) // 2))
    pixels = np.asarray(page if wanted.channels > 1 else page.convert("L"), np.uint8)
    return pixels.reshape(*size[::-1], -1).transpose(2, 0, 1).reshape(-1)


def _open_picture(opening: PictureFile) -> "Image":
    """Open a picture, reading only its header."""
    from PIL import Image, UnidentifiedImageError

    name = opening.name
    too_large = DataError(f"{name} has more than {opening.most:,} pixels", remedy="make it smaller")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(opening.file, formats=opening.formats)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise too_large from None
    except UnidentifiedImageError:
        raise DataError(f"{name} is not a picture", remedy="save it as PNG or JPEG") from None
    except (OSError, ValueError, SyntaxError) as error:
        unclear = "its name is not one" if isinstance(opening.file, str) else "it is damaged"
        why = getattr(error, "strerror", None) or unclear
        raise DataError(
            f"{name} cannot be read ({why})", remedy="mend the name or the file"
        ) from None
    if picture.width * picture.height > opening.most:
        picture.close()
        raise too_large
    return picture


def _on_white(picture: "Image", name: str) -> "Image":
    """Flatten transparency on white; it would otherwise become black."""
    from PIL import Image

    try:
        solid = picture.convert("RGBA")
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{name} is damaged ({error})", remedy="save it again") from None
    page = Image.new("RGBA", solid.size, "white")
    return Image.alpha_composite(page, solid).convert("RGB")
