"""A column of videos, each as some of its frames (S3.4)."""

from typing import Any, ClassVar

from seqloom.config.columns import COLUMNS, VideoConfig
from seqloom.fields.file_fields import FileField
from seqloom.fields.images.frames import read_frames
from seqloom.fields.items import Pixels, Values

__all__ = ["VideoField"]


@COLUMNS.part("video")
class VideoField(FileField[VideoConfig]):
    """A cell names a video file, a folder of pictures or an array file; an item is a frame."""

    length_unit: ClassVar[str] = "frames"

    @property
    def items(self) -> Pixels:
        """Pictures, so many at most."""
        channels, side = 3 if self.config.colour else 1, (self.config.height, self.config.width)
        return Pixels(channels, *side, frames=self.config.frames)

    def cell(self, row: Any) -> str:
        """What stands for a video where only text can be shown."""
        return f"<{len(row)} frames of {self.config.width} × {self.config.height}>"

    def tokens(self, row: Any) -> list[str]:
        """The number of each frame among those that are read."""
        return [f"frame {number}" for number in range(1, len(row) + 1)]

    def describe(self) -> str:
        """What is read of every video."""
        kind, size = "colour" if self.config.colour else "grey", self.config
        return f"videos, up to {size.frames} {kind} frames of {size.width} × {size.height} each"

    def _row(self, cell: str) -> Values:
        return read_frames(cell, self.items)
