"""Generated pictures and sounds: drawn from a seed, told apart by what they show."""

import io
from pathlib import Path
from random import Random

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]
from PIL import Image

from seqloom.datasets.digit_images import HEIGHT, WIDTH, digits, strip
from seqloom.datasets.melodies import NOTES, RATE, C, melody, synthesize
from seqloom.datasets.shape_videos import FRAMES, PACES, SIDE, WAYS, clips, render_clip
from seqloom.datasets.splits import Splits, write_splits


def few(name: str, seed: int = 0) -> Splits:
    make = {"digits": digits, "melody": melody, "clips": clips}[name]
    return make(seed=seed, train=20, held_out=5)


@pytest.mark.parametrize("name", ["digits", "melody", "clips"])
def test_splits_share_nothing_and_follow_from_the_seed(name: str) -> None:
    """Sizes as asked, a file for every row, no held-out target elsewhere, the same bytes again."""
    found = few(name)
    assert [len(rows) for rows in (found.train, found.valid, found.test)] == [20, 5, 5]
    rows = [*found.train, *found.valid, *found.test]
    assert {source for source, _ in rows} == found.files.keys()
    parts = [{target for _, target in part} for part in (found.train, found.valid, found.test)]
    assert len(set.union(*parts)) == sum(map(len, parts))
    assert few(name) == found
    assert few(name, seed=1).files != found.files


@pytest.mark.parametrize("name", ["digits", "melody", "clips"])
def test_they_are_written_once(name: str, tmp_path: Path) -> None:
    """Again is fine, other content is not overwritten."""
    found = few(name)
    for _ in range(2):
        paths = write_splits(found, tmp_path)
    assert [path.name for path in paths[:3]] == ["train.tsv", "valid.tsv", "test.tsv"]
    for file, content in found.files.items():
        assert (tmp_path / file).read_bytes() == content


def test_a_strip_holds_its_digits() -> None:
    """Ink in as many places of equal width as there are digits, however they are drawn."""
    for number in ("888", "8888", "888888"):
        page = np.asarray(strip(number, Random(1)))
        assert page.shape == (HEIGHT, WIDTH)
        inked = (page < 200).any(axis=0)
        assert 16 * (len(number) - 1) < np.ptp(np.flatnonzero(inked)) < 16 * len(number) + 8


def test_a_note_sounds_at_its_pitch() -> None:
    """The strongest of the first overtones is near a multiple of the note's frequency."""
    for name, above in NOTES.items():
        sound = synthesize(name, np.random.default_rng(2))
        power = np.abs(np.fft.rfft(sound, 8 * RATE))
        loudest = power.argmax() / 8
        ratio = loudest / (C * 2 ** (above / 12))
        assert min(abs(ratio / overtone - 1) for overtone in (1, 2, 3)) < 0.02


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("way", WAYS)
def test_a_clip_goes_its_way(way: str, pace: str) -> None:
    """The middle of what is drawn moves by the pace from frame to frame and stays on the page."""
    chance = Random(3)
    for _ in range(20):
        frames = render_clip(Image.new("RGBA", (9, 9), "black"), way, pace, chance)
        assert frames.shape == (FRAMES, SIDE, SIDE, 3)
        inked = [np.argwhere(frame[:, :, 0] < 128) for frame in frames]
        assert all(len(places) == 81 for places in inked)
        rows, columns = np.array([places.mean(axis=0) for places in inked]).T
        moved = np.array([columns[-1] - columns[0], rows[-1] - rows[0]]) / (FRAMES - 1)
        expected = PACES[pace] * np.array(WAYS[way])
        np.testing.assert_allclose(moved, expected, atol=0.1 * PACES[pace] + 0.15)


def test_files_are_what_they_say() -> None:
    picture = next(iter(few("digits").files.values()))
    assert Image.open(io.BytesIO(picture)).size == (WIDTH, HEIGHT)
    sound = next(iter(few("melody").files.values()))
    assert soundfile.read(io.BytesIO(sound))[1] == RATE
    clip = next(iter(few("clips").files.values()))
    assert np.load(io.BytesIO(clip), allow_pickle=False).shape == (FRAMES, SIDE, SIDE, 3)
