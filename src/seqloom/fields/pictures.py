"""A column of pictures, each brought to one size (SPEC S3.4)."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from seqloom.config.columns import PictureConfig
from seqloom.errors import DataError
from seqloom.fields.files import Stored
from seqloom.fields.items import Pixels
from seqloom.fields.values import Values

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["PictureField"]

MOST_PIXELS = 80_000_000  # of a file, before it is brought to size
UPLOADED = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # what strangers may send: nothing that runs code
SENT = "the file"


class Opening(NamedTuple):
    """A file to be opened, what errors call it, and what it may be."""

    file: str | BytesIO
    name: str
    most: int = MOST_PIXELS
    formats: tuple[str, ...] | None = None  # None: all that are known


class PictureField(Stored[PictureConfig]):
    """A cell is the name of a picture file; its row is one item."""

    def __init__(self, config: PictureConfig) -> None:
        self.config = config

    @classmethod
    def learn(cls, config: PictureConfig, cells: Iterable[str], *, seed: int) -> Self:
        """There is nothing to learn."""
        return cls(config)

    @classmethod
    def restore(cls, config: PictureConfig, facts: Mapping[str, Any], directory: Path) -> Self:
        """Nothing is saved beyond the configuration."""
        return cls(config)

    @property
    def items(self) -> Pixels:
        """One picture."""
        return Pixels(3 if self.config.colour else 1, self.config.height, self.config.width)

    def fault(self, cell: str) -> str | None:
        """A file that is not there, or that is not a picture."""
        try:
            self._pixels(_named(cell))
        except DataError as error:
            return str(error)
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """Each picture as its pixels: channels, then rows, then columns."""
        return [self._pixels(_named(cell)) for cell in cells]

    def uploaded(self, content: bytes, *, pixels: int = MOST_PIXELS) -> Values:
        """The row of a file's content; DataError where it is no picture or has more pixels."""
        return self._pixels(Opening(BytesIO(content), SENT, pixels, UPLOADED))

    def cell(self, row: Any) -> str:
        """What stands for a picture where only text can be shown."""
        return f"<picture of {self.config.width} × {self.config.height}>"

    def tokens(self, row: Any) -> list[str]:
        """The same."""
        return [self.cell(row)]

    def describe(self) -> str:
        """The size of every picture."""
        kind = "colour" if self.config.colour else "grey"
        return f"{kind} pictures of {self.config.width} × {self.config.height}"

    def _pixels(self, opening: Opening) -> Values:
        """The picture on white, scaled to fit and centred."""
        from PIL import Image

        size = self.config.width, self.config.height
        with _opened(opening) as file:
            file.draft("RGB", size)
            picture = _on_white(file, opening.name)
        picture.thumbnail(size, Image.Resampling.BOX)
        scale = min(size[0] / picture.width, size[1] / picture.height)
        fitting = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
        if fitting != picture.size:
            picture = picture.resize(fitting, Image.Resampling.BILINEAR)
        page = Image.new("RGB", size, "white")
        page.paste(picture, ((size[0] - fitting[0]) // 2, (size[1] - fitting[1]) // 2))
        pixels = np.asarray(page if self.config.colour else page.convert("L"), np.uint8)
        return pixels.reshape(*size[::-1], -1).transpose(2, 0, 1).reshape(1, -1)


def _named(cell: str) -> Opening:
    return Opening(cell.strip(), cell)


def _opened(opening: Opening) -> "Image":
    """The picture, of which no more than the header is read yet."""
    from PIL import Image, UnidentifiedImageError

    name = opening.name
    too_large = DataError(f"{name} has more than {opening.most:,} pixels; make it smaller")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(opening.file, formats=opening.formats)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise too_large from None
    except UnidentifiedImageError:
        raise DataError(f"{name} is not a picture; save it as PNG or JPEG") from None
    except (OSError, ValueError, SyntaxError) as error:
        unclear = "its name is not one" if isinstance(opening.file, str) else "it is damaged"
        why = getattr(error, "strerror", None) or unclear
        raise DataError(f"{name} cannot be read ({why}); mend the name or the file") from None
    if picture.width * picture.height > opening.most:
        picture.close()
        raise too_large
    return picture


def _on_white(picture: "Image", name: str) -> "Image":
    """Without transparency, which would be black otherwise."""
    from PIL import Image

    try:
        solid = picture.convert("RGBA")
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{name} is damaged ({error}); save it again") from None
    page = Image.new("RGBA", solid.size, "white")
    return Image.alpha_composite(page, solid).convert("RGB")
