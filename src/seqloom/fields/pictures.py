"""A column of pictures, scaled to one size (S3.4)."""

from io import BytesIO
from typing import Any, ClassVar

from seqloom.config.columns import COLUMNS, PictureConfig
from seqloom.fields.file_fields import UPLOAD_NAME, FileField
from seqloom.fields.images.pixels import UPLOAD_FORMATS, PictureFile, read_picture
from seqloom.fields.items import Pixels, Values
from seqloom.fields.protocol import UploadLimits

__all__ = ["PictureField"]


@COLUMNS.part("picture")
class PictureField(FileField[PictureConfig]):
    """A field of picture files; a row is one item."""

    takes_uploads: ClassVar[bool] = True

    @property
    def items(self) -> Pixels:
        """One picture."""
        return Pixels(3 if self.config.colour else 1, self.config.height, self.config.width)

    def read_upload(self, content: bytes, limits: UploadLimits) -> Values:
        """Encode an upload; DataError if it is not a picture or has too many pixels."""
        file = PictureFile(BytesIO(content), UPLOAD_NAME, limits.pixels, UPLOAD_FORMATS)
        return read_picture(file, self.items)[None]

    def facts(self) -> dict[str, Any]:
        """Facts for clients: the size of pictures."""
        return {"height": self.config.height, "width": self.config.width}

    def cell(self, row: Any) -> str:
        """A placeholder text for a picture."""
        return f"<picture of {self.config.width} × {self.config.height}>"

    def tokens(self, row: Any) -> list[str]:
        """The same."""
        return [self.cell(row)]

    def describe(self) -> str:
        """The size of pictures."""
        kind = "colour" if self.config.colour else "grey"
        return f"{kind} pictures of {self.config.width} × {self.config.height}"

    def _row(self, cell: str) -> Values:
        return read_picture(PictureFile.from_cell(cell), self.items)[None]
