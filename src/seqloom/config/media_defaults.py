"""What to choose for sources that name files: pictures, sound and videos (S3.4, S3.5)."""

import math
from collections.abc import Mapping
from typing import Any

from seqloom.config.columns import PictureConfig, SoundConfig, VideoConfig
from seqloom.config.serialization import Overrides

__all__ = [
    "MEDIA_CONFIGS",
    "MediaConfig",
    "media_data",
    "media_parts",
    "media_search",
    "media_training",
]

MEDIA_CONFIGS = (PictureConfig, SoundConfig, VideoConfig)
MediaConfig = PictureConfig | SoundConfig | VideoConfig

LONGEST_SOUND = 30  # seconds
FASTEST_SPEECH = 25  # characters a second
SOUND_POSITIONS = 20_000  # frames in a batch
ROWS = 32  # of a batch
PASSES = 2, 40  # the fewest and the most
ROW_BUDGET = 128_000  # rows in all passes, where that is more than the fewest
UPDATES = 500, 20_000  # the fewest and the most
CELLS, CHANNELS = 4, 128  # of a picture: along its shorter side, and in each cell
WARP = 0.1  # so that few pictures of a thing are as good as many
FRAME_WIDTHS = (16, 32, 64)  # a video has many pictures, which leave each less time


def media_data(source: MediaConfig) -> Overrides:
    """How the files are read."""
    chosen: Overrides = {"files": True}
    if isinstance(source, SoundConfig):
        chosen["max_source"] = round(LONGEST_SOUND * 1_000 / source.step)
    return chosen


def media_parts(source: MediaConfig) -> Overrides:
    """What makes vectors of pixels or frames, and what reads these."""
    match source:
        case PictureConfig():
            widths = _widths(min(source.height, source.width))
            front = {"kind": "picture", "widths": widths, "warp": WARP}
            return {"front": front, "encoder": {"kind": "vectors"}}
        case VideoConfig():
            return {"front": {"kind": "picture", "grid": "whole", "widths": FRAME_WIDTHS}}
        case SoundConfig():
            return {"front": {"kind": "sound"}}


def _widths(side: int) -> tuple[int, ...]:
    """Stages that leave about four cells of the shorter side, three to five of them, each with
    twice the channels of the one before it."""
    stages = min(5, max(3, round(math.log2(side / CELLS))))
    return tuple(max(16, CHANNELS // 2**left) for left in reversed(range(stages)))


def media_search(source: MediaConfig) -> Overrides:
    """What of the source's length limits that of an output."""
    if isinstance(source, SoundConfig):
        return {"max_ratio": round(FASTEST_SPEECH * source.step / 1_000, 6)}
    return {}


def media_training(
    source: MediaConfig, rows: int, usual: Overrides, own: Mapping[str, Any]
) -> Overrides:
    """The usual choices for so many rows, which are what there is to count; convolutions and what
    follows them are learnt at half the rate.

    What follows from the batch and the number of updates follows the user's `own`, where set.
    """
    batch = own.get("batch_rows") or ROWS
    passes = min(PASSES[1], max(PASSES[0], ROW_BUDGET / max(1, rows)))
    updates = round(passes * rows / batch / 100) * 100
    updates = own.get("updates", min(UPDATES[1], max(UPDATES[0], updates)))
    sound = isinstance(source, SoundConfig)
    return {
        "updates": updates,
        "batch_rows": batch,
        "batch_tokens": SOUND_POSITIONS if sound else usual["batch_tokens"],
        "rate": usual["rate"] / 2,
        "warmup": min(1_000, updates // 10),
        "validate_every": max(50, min(1_000, updates // 15)),
    }
