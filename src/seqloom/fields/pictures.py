"""A column of pictures, each brought to one size (S3.4)."""

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
    """A cell is the name of a picture file; its row is one item."""

    takes_uploads: ClassVar[bool] = True

    @property
    def items(self) -> Pixels:
        """One picture."""
        return Pixels(3 if self.config.colour else 1, self.config.height, self.config.width)

    def read_upload(self, content: bytes, limits: UploadLimits) -> Values:
        """The row of a file's content; DataError where it is no picture or has more pixels."""
        file = PictureFile(BytesIO(content), UPLOAD_NAME, limits.pixels, UPLOAD_FORMATS)
        return read_picture(file, self.items)[None]

    def facts(self) -> dict[str, Any]:
        """What clients are told: the size that pictures are brought to."""
        return {"height": self.config.height, "width": self.config.width}

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

    def _row(self, cell: str) -> Values:
        return read_picture(PictureFile.from_cell(cell), self.items)[None]
