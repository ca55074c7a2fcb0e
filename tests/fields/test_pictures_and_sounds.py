"""Columns that name files: pictures and sounds (S3.4, S3.5)."""

from pathlib import Path

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]
from PIL import Image

from seqloom.config import DataConfig, PictureConfig, SoundConfig
from seqloom.data import Report, read_rows
from seqloom.fields import PictureField, SoundField, load_field
from seqloom.fields.sounds import log_mel, mel_bands, resample

SOUND = SoundConfig(rate=8_000, bands=20)
OPEN = SoundConfig()


def tone(frequency: float, *, rate: int = 8_000, seconds: float = 0.5) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * np.arange(int(rate * seconds)) / rate).astype(np.float32)


def test_a_picture_is_brought_to_size_on_white(tmp_path: Path) -> None:
    """A black square keeps its shape in the middle of a wide page; what is see-through is white."""
    Image.new("RGB", (10, 10), "black").save(tmp_path / "square.png")
    field = PictureField(PictureConfig(height=8, width=16, colour=False))
    (row,) = field.rows([str(tmp_path / "square.png")])
    assert row.dtype == np.uint8
    pixels = row.reshape(8, 16)
    assert (pixels[:, 4:12] == 0).all()
    assert (pixels[:, :4] == 255).all()
    assert (pixels[:, 12:] == 255).all()
    Image.new("RGBA", (8, 8), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    (row,) = PictureField(PictureConfig(height=8, width=8)).rows([str(tmp_path / "clear.png")])
    assert row.shape == (1, 3 * 8 * 8)
    assert (row == 255).all()


def test_channels_come_before_rows(tmp_path: Path) -> None:
    """As convolutions read them."""
    pixels = np.zeros((2, 3, 3), np.uint8)
    pixels[1, 2] = (10, 20, 30)
    Image.fromarray(pixels).save(tmp_path / "dot.png")
    (row,) = PictureField(PictureConfig(height=2, width=3)).rows([str(tmp_path / "dot.png")])
    assert row.reshape(3, 2, 3)[:, 1, 2].tolist() == [10, 20, 30]


def test_a_tone_is_loudest_in_its_band(tmp_path: Path) -> None:
    """The band whose triangle is highest there; and recordings of other rates give the same."""
    bands = mel_bands(20, rate=8_000, points=256)
    for frequency in (300.0, 1_000.0, 2_500.0):
        expected = int(bands[:, round(frequency * 256 / 8_000)].argmax())
        frames = log_mel(tone(frequency), 8_000, SOUND, bands)
        assert (frames.argmax(axis=1) == expected).all()
    assert len(frames) == 1 + (4_000 - 200) // 80


def test_every_point_between_the_corners_is_shared_by_two_bands() -> None:
    """Triangles that overlap by half add up to 1."""
    total = mel_bands(30, rate=16_000, points=512).sum(axis=0)
    corners = 700 * (10 ** (np.linspace(0, 2_595 * np.log10(1 + 8_000 / 700), 32) / 2_595) - 1)
    inside = np.fft.rfftfreq(512, 1 / 16_000)
    chosen = (inside >= corners[1]) & (inside <= corners[-2])
    np.testing.assert_allclose(total[chosen], 1)


@pytest.mark.parametrize("rate", [4_000, 11_025, 16_000, 44_100])
def test_a_tone_stays_what_it_is_at_another_rate(rate: int) -> None:
    """A sound that both rates can hold; compared away from its ends."""
    found = resample(tone(500.0, rate=rate), rate, 8_000)
    expected = tone(500.0, seconds=len(found) / 8_000)
    np.testing.assert_allclose(found[400:-400], expected[400 : len(found) - 400], atol=2e-2)


def test_loudness_does_not_matter_and_silence_is_finite(tmp_path: Path) -> None:
    sound = tone(440.0) * np.linspace(0.1, 1, 4_000)
    for name, samples in (("loud", sound), ("soft", sound * 0.1), ("none", sound * 0)):
        soundfile.write(tmp_path / f"{name}.wav", samples, 8_000, subtype="FLOAT")
    loud, soft, none = SoundField(SOUND, 8_000).rows(
        [str(tmp_path / f"{name}.wav") for name in ("loud", "soft", "none")]
    )
    np.testing.assert_allclose(loud, soft, atol=1e-2)
    assert np.isfinite(none).all()
    np.testing.assert_allclose(loud.mean(axis=0), 0, atol=1e-4)


def test_a_frame_is_the_logarithm_of_its_power_by_definition() -> None:
    """Each sum of the discrete Fourier transform written out, over windows of a raised cosine."""
    config = SoundConfig(rate=1_000, bands=4, window=16, step=8)
    sound = np.random.default_rng(1).normal(size=100).astype(np.float32)
    bands = mel_bands(4, rate=1_000, points=32)
    steps = np.arange(16)
    cosine = 0.5 - 0.5 * np.cos(2 * np.pi * steps / 16)
    waves = np.exp(-2j * np.pi * np.outer(np.arange(17), steps) / 32)
    starts = range(0, 100 - 16 + 1, 8)
    power = [np.abs(waves @ (cosine * sound[start : start + 16])) ** 2 for start in starts]
    expected = np.log(np.array(power) @ bands.T)
    np.testing.assert_allclose(log_mel(sound, 1_000, config, bands), expected, rtol=1e-5)


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100])
@pytest.mark.parametrize("count", [20, 40, 80, 128])
def test_every_band_hears_something(rate: int, count: int, tmp_path: Path) -> None:
    """However narrow the bands, noise has power in each."""
    noise = np.random.default_rng(2).normal(size=rate).astype(np.float32)
    soundfile.write(tmp_path / "noise.wav", noise / 10, rate, subtype="FLOAT")
    (row,) = SoundField(SoundConfig(bands=count), rate).rows([str(tmp_path / "noise.wav")])
    np.testing.assert_allclose(row.std(axis=0), 1, rtol=1e-3)


def test_the_rate_is_that_of_the_recordings(tmp_path: Path) -> None:
    """The highest of them, but no more than speech needs; and it is saved."""
    for rate in (8_000, 11_025, 44_100):
        soundfile.write(tmp_path / f"{rate}.wav", tone(440.0, rate=rate), rate)

    def learnt(*rates: int, config: SoundConfig = OPEN) -> SoundField:
        cells = [str(tmp_path / f"{rate}.wav") for rate in rates]
        return SoundField.learn(config, cells, seed=1)

    assert learnt(8_000).rate == 8_000
    assert learnt(8_000, 11_025).rate == 11_025
    assert learnt(44_100).rate == learnt().rate == learnt(1).rate == 16_000
    assert learnt(44_100, config=SoundConfig(rate=44_100)).rate == 44_100
    learnt(8_000).save(tmp_path / "field")
    again = load_field(tmp_path / "field")
    assert isinstance(again, SoundField)
    assert again.rate == 8_000
    assert again.fingerprint == learnt(8_000).fingerprint != learnt(11_025).fingerprint


@pytest.mark.parametrize("name", ["missing.png", "text.png", "a\0b", "", "cut.png", "cut.wav"])
def test_what_is_no_file_of_its_kind(name: str, tmp_path: Path) -> None:
    """One sentence with the file and the cure; a damaged file is found before it is used."""
    (tmp_path / "text.png").write_text("hello")
    Image.effect_noise((64, 64), 50).save(tmp_path / "whole.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:600])
    (tmp_path / "cut.wav").write_bytes(b"RIFF\0\0\0\0WAVEfmt ")
    for field in (PictureField(PictureConfig()), SoundField(SOUND, 8_000)):
        wrong = str(field.fault(str(tmp_path / name)))
        assert ";" in wrong
        assert "\n" not in wrong
        assert " object at " not in wrong


@pytest.mark.parametrize(
    ("samples", "said"), [(np.zeros(0), "has no sound"), (np.full(9, np.nan), "not finite")]
)
def test_sounds_of_nothing(samples: np.ndarray, said: str, tmp_path: Path) -> None:
    """Zero length, and samples that are no numbers."""
    soundfile.write(tmp_path / "none.wav", samples, 8_000, subtype="FLOAT")
    wrong = str(SoundField(SOUND, 8_000).fault(str(tmp_path / "none.wav")))
    assert said in wrong


def test_a_picture_of_too_many_pixels_is_refused_unread(tmp_path: Path) -> None:
    """By what its first bytes say, whether or not the library would warn."""
    for side in (9_000, 11_000, 20_000):
        Image.new("1", (side, side)).save(tmp_path / "large.png")
        wrong = str(PictureField(PictureConfig()).fault(str(tmp_path / "large.png")))
        assert "pixels" in wrong


def test_files_are_beside_the_data(tmp_path: Path) -> None:
    """A relative name is looked for where the table is; an absolute one stays."""
    path = tmp_path / "rows.tsv"
    path.write_text(f"a.png\tone\n{tmp_path / 'b.png'}\ttwo\n")
    rows = list(read_rows(path, DataConfig(files=True), Report()))
    assert [row.source for row in rows] == [str(tmp_path / "a.png"), str(tmp_path / "b.png")]
