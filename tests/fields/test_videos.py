"""Columns of videos: files, folders of frames, arrays (S3.4; RELIABILITY, data)."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from seqloom.config import PictureConfig, VideoConfig
from seqloom.fields import PictureField, Pixels, VideoField, load_field
from seqloom.fields.images import frames as reading
from seqloom.fields.images.frames import frame_indices

CONFIG = VideoConfig(height=6, width=8, frames=5)
Clip = NDArray[np.uint8]


def clip(count: int = 20) -> Clip:
    """Plain frames, each a little brighter than the one before."""
    levels = np.arange(count, dtype=np.uint8) * 10
    return np.broadcast_to(levels[:, None, None, None], (count, 24, 32, 3)).copy()


def as_file(path: Path, frames: Clip, codec: str = "ffv1", pixels: str = "bgr0") -> str:
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=10)
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], pixels
        for frame in frames:
            for packet in stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                file.mux(packet)
        for packet in stream.encode():
            file.mux(packet)
    return str(path)


def as_folder(path: Path, frames: Clip) -> str:
    path.mkdir()
    for number, frame in enumerate(frames):
        Image.fromarray(frame).save(path / f"frame{number}.png")
    return str(path)


def as_array(path: Path, frames: NDArray[np.generic]) -> str:
    np.save(path, frames)
    return str(path)


@given(st.integers(1, 500), st.integers(1, 60))
def test_frames_are_chosen_evenly(count: int, most: int) -> None:
    """All where there are few; else in order, equally far apart and as far from either end, give
    or take a frame."""
    chosen = np.array(frame_indices(count, most))
    assert len(chosen) == min(count, most)
    steps = np.diff(chosen)
    assert (steps >= 1).all()
    assert np.ptp(steps) <= 1 if len(steps) else True
    assert abs(chosen[0] - (count - 1 - chosen[-1])) <= 1
    assert chosen[0] <= count / len(chosen) / 2


def test_the_three_forms_of_a_video_are_one(tmp_path: Path) -> None:
    """Without loss the same pixels; frame2 comes before frame10."""
    frames = np.random.default_rng(1).integers(0, 256, (20, 24, 32, 3), np.uint8)
    field = VideoField(CONFIG)
    array, file, folder = field.rows(
        [
            as_array(tmp_path / "clip.npy", frames),
            as_file(tmp_path / "clip.mkv", frames),
            as_folder(tmp_path / "clip", frames),
        ]
    )
    assert array.shape == (5, 3 * 6 * 8)
    assert field.items == Pixels(3, 6, 8, frames=5)
    np.testing.assert_array_equal(array, file)
    np.testing.assert_array_equal(array, folder)


@pytest.mark.parametrize(
    ("name", "codec", "pixels"),
    [
        ("a.mp4", "mpeg4", "yuv420p"),
        ("a.webm", "libvpx", "yuv420p"),
        ("a.avi", "mjpeg", "yuvj420p"),
        ("a.gif", "gif", "rgb8"),
    ],
)
def test_usual_formats(name: str, codec: str, pixels: str, tmp_path: Path) -> None:
    """Whether or not the file says how many frames it has; colours are lost a little."""
    (row,) = VideoField(CONFIG).rows([as_file(tmp_path / name, clip(), codec, pixels)])
    np.testing.assert_allclose(row.mean(axis=1), [20, 60, 100, 140, 180], atol=4)


def test_a_frame_is_a_picture(tmp_path: Path) -> None:
    """Of the same size, on white and centred, as in a column of pictures."""
    frames = np.random.default_rng(2).integers(0, 256, (1, 9, 5, 3), np.uint8)
    Image.fromarray(frames[0]).save(tmp_path / "one.png")
    video_field = VideoField(VideoConfig(height=6, width=8, colour=False))
    picture_field = PictureField(PictureConfig(height=6, width=8, colour=False))
    (video,) = video_field.rows([as_array(tmp_path / "one.npy", frames)])
    (picture,) = picture_field.rows([str(tmp_path / "one.png")])
    np.testing.assert_array_equal(video, picture)


def test_numbers_from_0_to_1_are_bytes_too(tmp_path: Path) -> None:
    grey = clip(4)[..., 0]
    one, two = VideoField(CONFIG).rows(
        [as_array(tmp_path / "a.npy", grey), as_array(tmp_path / "b.npy", grey / 255)]
    )
    np.testing.assert_array_equal(one, two)
    assert one.shape == (4, 3 * 6 * 8)


def unusable(path: Path) -> dict[str, str]:
    """Names of what is no video, and what is said of each."""
    (path / "empty.mp4").write_bytes(b"")
    (path / "text.mp4").write_text("hello")
    (path / "folder").mkdir()
    (path / "mixed").mkdir()
    (path / "mixed" / "1.png").write_text("hello")
    np.save(path / "object.npy", np.array([{}], dtype=object))
    (path / "text.npy").write_text("hello")
    as_array(path / "none.npy", np.zeros((0, 4, 4), np.uint8))
    as_array(path / "five.npy", np.zeros((2, 4, 4, 5), np.uint8))
    as_array(path / "nan.npy", np.full((2, 4, 4), np.nan))
    as_array(path / "large.npy", np.zeros((1, 2, 10, 1), np.uint8))
    whole = Path(as_file(path / "whole.mp4", clip(), "mpeg4", "yuv420p")).read_bytes()
    (path / "cut.mp4").write_bytes(whole[: len(whole) // 2])
    (path / "list.m3u8").write_text(
        f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile://{path / 'whole.mp4'}\n"
        "#EXT-X-ENDLIST\n"
    )
    (path / "list.ffconcat").write_text("ffconcat version 1.0\nfile whole.mp4\n")
    return {
        "missing.mp4": "No such file",
        "a\0b": "its name is not one",
        "empty.mp4": "is empty",
        "folder": "has no frames",
        "mixed": "1.png is not a picture",
        "none.npy": "has no frames",
        "object.npy": "is not an array of numbers",
        "text.npy": "is not an array of numbers",
        "five.npy": "of shape",
        "nan.npy": "from 0 to 1",
        "cut.mp4": "has no pictures",
        **dict.fromkeys(("text.mp4", "list.m3u8", "list.ffconcat"), "not a video"),
    }


def test_what_is_no_video(tmp_path: Path) -> None:
    """One sentence with the file and the cure; no other file is opened in its place."""
    field = VideoField(CONFIG)
    for name, said in unusable(tmp_path).items():
        wrong = str(field.fault(str(tmp_path / name)))
        assert said in wrong, name
        assert ";" in wrong
        assert "\n" not in wrong
    assert field.fault(str(tmp_path / "whole.mp4")) is None


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [
        ("MOST_FRAMES", 19, "more than 19 frames"),
        ("MOST_PIXELS", 24 * 32 - 1, "767 pixels"),
        ("LONGEST", 1, "longer than an hour"),
    ],
)
def test_limits(
    limit: str, most: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On frames, on pixels and, where there is a clock, on seconds, whatever the form."""
    names = [as_file(tmp_path / "clip.mkv", clip())]
    if limit != "LONGEST":
        names.append(as_array(tmp_path / "clip.npy", clip()))
    if limit == "MOST_FRAMES":
        names.append(as_folder(tmp_path / "clip", clip()))
    assert all(VideoField(CONFIG).fault(name) is None for name in names)
    monkeypatch.setattr(reading, limit, most)
    for name in names:
        assert said in str(VideoField(CONFIG).fault(name))


def test_it_is_saved_and_told(tmp_path: Path) -> None:
    field = VideoField(CONFIG)
    field.save(tmp_path / "field")
    again = load_field(tmp_path / "field")
    assert isinstance(again, VideoField)
    assert again.fingerprint == field.fingerprint
    assert field.describe() == "videos, up to 5 colour frames of 8 × 6 each"
    row = np.zeros((2, 144), np.uint8)
    assert (field.cell(row), field.tokens(row)) == ("<2 frames of 8 × 6>", ["frame 1", "frame 2"])


def test_without_the_extra_arrays_and_folders_are_read(tmp_path: Path) -> None:
    """A video file then gets the command that installs it."""
    np.save(tmp_path / "clip.npy", clip(2))
    (tmp_path / "clip.mp4").write_bytes(b"x")
    code = (
        "import sys; sys.modules['av'] = None\n"
        "from seqloom.config import VideoConfig\n"
        "from seqloom.errors import ConfigError\n"
        "from seqloom.fields import VideoField\n"
        "field = VideoField(VideoConfig())\n"
        "print(field.fault(sys.argv[1] + '/clip.npy'))\n"
        "try:\n    field.fault(sys.argv[1] + '/clip.mp4')\n"
        "except ConfigError as error:\n    print(error)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[0] == "None"
    assert "pip install 'seqloom[video]'" in said
