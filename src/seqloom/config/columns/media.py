"""Columns of file names: pictures, sound and videos (S3.4, S3.5)."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from seqloom.config.columns.options import SOURCES, Situation, SourceOptions, longest
from seqloom.config.sections import Overrides

__all__ = ["FileOptions", "PictureConfig", "SoundConfig", "VideoConfig"]

PixelCount = Annotated[int, Field(ge=1, le=4_096)]

LONGEST_SOUND = 30  # seconds
FASTEST_SPEECH = 25  # characters a second
SOUND_POSITIONS = 20_000  # frames in a batch
ROWS = 32  # of a batch
PASSES = 2, 40  # the fewest and the most
ROW_BUDGET = 128_000  # rows in all epochs, if that is more than the fewest
UPDATES = 500, 20_000  # the fewest and the most
CELLS, CHANNELS = 4, 128  # of a picture: along its shorter side, and in each cell
WARP = 0.1  # distortion makes up for few examples
FRAME_WIDTHS = (16, 32, 64)  # fewer epochs: a video has many pictures


class FileOptions(SourceOptions):
    """Options of every column of file names."""

    def data_defaults(self, situation: Situation) -> Overrides:
        """Cells name files."""
        return {"files": True}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """Defaults by the number of rows, with half the usual learning rate.

        Values derived from batch size and number of updates use the user's, if set.
        """
        rows, settled = situation.facts.rows, situation.training
        batch = settled.get("batch_rows") or ROWS
        passes = min(PASSES[1], max(PASSES[0], ROW_BUDGET / max(1, rows)))
        updates = round(passes * rows / batch / 100) * 100
        updates = settled.get("updates", min(UPDATES[1], max(UPDATES[0], updates)))
        return {
            "updates": updates,
            "batch_rows": batch,
            "batch_tokens": usual["batch_tokens"],
            "rate": usual["rate"] / 2,
            "warmup": min(1_000, updates // 10),
            "validate_every": max(50, min(1_000, updates // 15)),
        }


@SOURCES.options("picture")
class PictureConfig(FileOptions):
    """A column of picture files (S3.4)."""

    kind: Literal["picture"] = "picture"
    height: PixelCount = Field(64, description="height in pixels to which pictures are scaled")
    width: PixelCount = Field(64, description="and pixels in a row")
    colour: bool = Field(True, description="read red, green and blue, rather than grey")

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """Convolutions, without a further encoder."""
        widths = _widths(min(self.height, self.width))
        front = {"kind": "picture", "widths": widths, "warp": WARP}
        return {"front": front, "encoder": {"kind": "vectors"}}


def _widths(side: int) -> tuple[int, ...]:
    """Three to five stages that leave about four cells on the shorter side, each with twice the
    channels of the one before.
    """
    stages = min(5, max(3, round(math.log2(side / CELLS))))
    return tuple(max(16, CHANNELS // 2**left) for left in reversed(range(stages)))


@SOURCES.options("sound")
class SoundConfig(FileOptions):
    """A column of sound files, read as log-mel frames (S3.5)."""

    kind: Literal["sound"] = "sound"
    rate: Annotated[int, Field(ge=0, le=192_000)] = Field(
        0,
        description="sampling rate to which recordings are converted; 0: their own, 16,000 at most",
    )
    bands: Annotated[int, Field(ge=1, le=256)] = Field(
        40, description="mel bands of a frame, from 0 Hz to half the rate"
    )
    window: Annotated[float, Field(gt=1, le=1_000)] = Field(
        25.0, description="length of a frame in milliseconds"
    )
    step: Annotated[float, Field(gt=1, le=1_000)] = Field(
        10.0, description="hop from one frame to the next in milliseconds"
    )

    has_positions: ClassVar[bool] = True

    def usual_preset(self, situation: Situation) -> str:
        """Recurrent layers, which need fewer rows than a Transformer."""
        return "lstm"

    def data_defaults(self, situation: Situation) -> Overrides:
        """Cells name files, with a limit on frames."""
        return {"files": True, **longest(round(LONGEST_SOUND * 1_000 / self.step), situation)}

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """Convolutions before the encoder; none if each frame has a tag."""
        return {} if situation.target.is_aligned else {"front": {"kind": "sound"}}

    def output_limits(self, room: int) -> Overrides:
        """A length limit from the fastest speech."""
        ratio = round(FASTEST_SPEECH * self.step / 1_000, 6)
        return {**super().output_limits(room), "max_ratio": ratio}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """The defaults of files, with batches sized in frames."""
        chosen = super().training_defaults(situation, usual)
        return {**chosen, "batch_tokens": SOUND_POSITIONS}


@SOURCES.options("video")
class VideoConfig(FileOptions):
    """A column of videos: files, folders of frames, or arrays (S3.4)."""

    has_positions: ClassVar[bool] = True

    kind: Literal["video"] = "video"
    frames: Annotated[int, Field(ge=1, le=256)] = Field(
        8, description="evenly spaced frames read of a video; all if it has fewer"
    )
    height: PixelCount = Field(32, description="height in pixels to which frames are scaled")
    width: PixelCount = Field(32, description="and pixels in a row")
    colour: bool = Field(True, description="read red, green and blue, rather than grey")

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """Convolutions with one vector per frame."""
        return {"front": {"kind": "picture", "grid": "whole", "widths": FRAME_WIDTHS}}
