"""Evenly spaced frames of a video: a file, a folder or an array (S3.4).

Only the file itself is opened: a playlist that names others is refused.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import ConfigError, DataError
from seqloom.fields.images.pixels import MOST_PIXELS, PictureFile, fit_picture, read_picture
from seqloom.fields.items import Pixels

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["LONGEST", "MOST_FRAMES", "frame_indices", "read_frames"]

MOST_FRAMES = 100_000  # most frames of a video, before some are chosen
LONGEST = 3_600  # seconds
OPEN_OPTIONS = {
    "protocol_whitelist": "none"
}  # protocols: other files that a file names are not opened
CHANNELS = (1, 3)  # of an array
Frames = NDArray[np.uint8]


def frame_indices(count: int, most: int) -> list[int]:
    """The indices of `wanted` of `count` frames: the middles of equal intervals."""
    if count <= most:
        return list(range(count))
    return [(2 * number + 1) * count // (2 * most) for number in range(most)]


def read_frames(name: str, wanted: Pixels) -> Frames:
    """Read the chosen frames of a video, scaled; DataError if it has none."""
    path = Path(name.strip())
    try:
        if path.is_dir():
            return _read_folder(path, wanted)
        if path.suffix.lower() == ".npy":
            return _read_array(path, wanted)
        return _read_video(path, wanted)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not one"
        raise DataError(
            f"{name} cannot be read ({why})", remedy="mend the name or the file"
        ) from None


def _read_folder(path: Path, wanted: Pixels) -> Frames:
    """Pictures sorted by name, with numbers compared by value."""
    with os.scandir(path) as entries:
        names = [each.name for each in entries if not each.name.startswith(".") and each.is_file()]
    _check_count(len(names), str(path), cure="put its frames there as pictures")
    names.sort(key=_by_numbers)
    chosen = [str(path / names[number]) for number in frame_indices(len(names), wanted.frames)]
    return np.stack([read_picture(PictureFile.from_cell(each), wanted) for each in chosen])


def _by_numbers(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"([0-9]{1,18})", name)
    return [(int(part), "") if number % 2 else (0, part) for number, part in enumerate(parts)]


def _read_array(path: Path, wanted: Pixels) -> Frames:
    """An array of bytes, or of numbers from 0 to 1: frames, rows, columns and optionally
    colours.
    """
    from PIL import Image

    form = "save an array of frames × rows × columns (× 3) of bytes, or of numbers from 0 to 1"
    try:
        found: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, TypeError):
        raise DataError(f"{path} is not an array of numbers", remedy=form) from None
    if found.ndim == 3:
        found = found[..., None]
    known = found.dtype == np.uint8 or found.dtype.kind == "f"
    if not known or found.ndim != 4 or found.shape[3] not in CHANNELS:
        raise DataError(f"{path} is {found.dtype} of shape {found.shape}", remedy=form)
    _check_count(len(found), str(path), cure="save one with a frame at least")
    _check_size(found.shape[2], found.shape[1], str(path))
    made = []
    for number in frame_indices(len(found), wanted.frames):
        frame = np.asarray(found[number])
        if frame.dtype != np.uint8:
            if not ((frame >= 0) & (frame <= 1)).all():
                raise DataError(f"{path} has values that are not from 0 to 1", remedy=form)
            frame = (frame * 255).round().astype(np.uint8)
        picture = Image.fromarray(np.ascontiguousarray(frame).repeat(3 // frame.shape[2], axis=2))
        made.append(fit_picture(picture, wanted))
    return np.stack(made)


def _read_video(path: Path, wanted: Pixels) -> Frames:
    """Decode frames in display order, up to the last chosen one."""
    with _open_video(path) as (file, stream):
        expected = sum(1 for packet in file.demux(stream) if packet.size)
    count, found = _decode_frames(path, expected, wanted)
    if count != expected:
        count, found = _decode_frames(path, count, wanted)
    _check_count(count, str(path), cure="give a video that has some")
    return np.stack(found)


def _decode_frames(path: Path, expected: int, wanted: Pixels) -> tuple[int, list[Frames]]:
    """The number of frames, and those chosen given the expected number."""
    _check_count(expected or 1, str(path), cure="")
    chosen, found, count = set(frame_indices(expected, wanted.frames)), [], 0
    with _open_video(path) as (file, stream):
        for frame in file.decode(stream):
            if count in chosen:
                found.append(fit_picture(_to_picture(frame, path), wanted))
            count += 1
            _check_count(count, str(path), cure="")
            if (frame.time or 0) > LONGEST:
                raise _too_long(path)
    return count, found


def _to_picture(frame: Any, path: Path) -> "Image":
    _check_size(frame.width, frame.height, str(path))
    picture: Image = frame.to_image()
    return picture


@contextmanager
def _open_video(path: Path) -> Iterator[tuple[Any, Any]]:
    """A file and its stream of pictures."""
    library = _library()
    with path.open("rb") as content:
        if not os.fstat(content.fileno()).st_size:
            raise DataError(f"{path} is empty", remedy="copy the video again")
        try:
            with library.open(content, options=OPEN_OPTIONS) as file:
                if not file.streams.video:
                    raise DataError(f"{path} has no pictures", remedy="save the video again")
                stream = file.streams.video[0]
                stream.codec_context.thread_count = 1
                _check_size(stream.codec_context.width, stream.codec_context.height, str(path))
                if (file.duration or 0) > LONGEST * library.time_base:
                    raise _too_long(path)
                yield file, stream
        except library.FFmpegError:
            raise DataError(
                f"{path} is not a video or is damaged", remedy="save it again, as MP4 or WebM say"
            ) from None


def _check_count(count: int, name: str, *, cure: str) -> None:
    if not count:
        raise DataError(f"{name} has no frames", remedy=cure)
    if count > MOST_FRAMES:
        raise DataError(f"{name} has more than {MOST_FRAMES:,} frames", remedy="cut it into pieces")


def _check_size(width: int, height: int, name: str) -> None:
    if width * height > MOST_PIXELS:
        raise DataError(
            f"{name} has frames of more than {MOST_PIXELS:,} pixels", remedy="make them smaller"
        )
    if not width * height:
        raise DataError(f"{name} has frames of no size", remedy="save it again")


def _too_long(path: Path) -> DataError:
    return DataError(f"{path} is longer than an hour", remedy="cut it into pieces")


def _library() -> Any:
    """PyAV, imported when a video file is read."""
    try:
        import av
    except ImportError:
        raise ConfigError(
            "video files are read by PyAV, which is not installed",
            remedy="pip install 'seqloom[video]'",
        ) from None
    return av
