"""A column of recordings as log-mel frames (SPEC S3.5).

A frame is the sound of some 25 milliseconds under a raised cosine; its power is summed over bands
that are equally wide on the mel scale, mel(f) = 2595 log10(1 + f / 700), and the logarithm taken.
Each band is then brought to mean 0 and spread 1 over the recording, so loudness does not matter.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.config.columns import SoundConfig
from seqloom.errors import DataError
from seqloom.fields.files import Saved, digest, write_field
from seqloom.fields.items import Numbers
from seqloom.fields.protocol import Values

__all__ = ["SoundField", "log_mel", "mel_bands", "resampled"]

QUIET = 1e-30  # power below which there is silence, ...
RANGE = 1e-8  # ... and below this share of the loudest
LONGEST = 3_600  # seconds of a recording
Samples = NDArray[np.float32]


class SoundField:
    """A cell is the name of a sound file; its row is a frame every few milliseconds."""

    def __init__(self, config: SoundConfig) -> None:
        self.config = config

    @classmethod
    def learn(cls, config: SoundConfig, cells: Iterable[str], *, seed: int) -> Self:
        """There is nothing to learn."""
        return cls(config)

    @classmethod
    def restore(cls, config: SoundConfig, facts: Mapping[str, Any], directory: Path) -> Self:
        """Nothing is saved beyond the configuration."""
        return cls(config)

    @property
    def items(self) -> Numbers:
        """The bands of a frame."""
        return Numbers(self.config.bands)

    @property
    def closing(self) -> int:
        """None."""
        return 0

    @property
    def fingerprint(self) -> str:
        """Of the frames' options."""
        return digest(self.config, Saved({}))

    def fault(self, cell: str) -> str | None:
        """A file that is not there, that is not a sound, or that is empty or endless."""
        try:
            information = _library().info(cell.strip())
        except (RuntimeError, TypeError, OSError):
            return f"{cell} cannot be read as sound; give a WAV, FLAC or OGG file that is there"
        if not 0 < information.frames <= LONGEST * information.samplerate:
            return f"{cell} has {information.duration:.1f} seconds; give more than 0 and an hour"
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """Each recording as its frames."""
        return [self._frames(cell) for cell in cells]

    def cell(self, row: Any) -> str:
        """What stands for a recording where only text can be shown."""
        return f"<{len(row) * self.config.step / 1_000:.1f} seconds of sound>"

    def tokens(self, row: Any) -> list[str]:
        """When each frame begins."""
        return [f"{number * self.config.step / 1_000:.2f} s" for number in range(len(row))]

    def describe(self) -> str:
        """What a frame is."""
        return f"sound, {self.config.bands} bands every {self.config.step:g} ms"

    def save(self, directory: Path) -> None:
        """Write the field's file into a directory, which is made if it is not there."""
        write_field(directory, self.config, Saved({}))

    @cached_property
    def _bands(self) -> NDArray[np.float64]:
        config = self.config
        return mel_bands(config.bands, rate=config.rate, points=_points(config))

    def _frames(self, cell: str) -> Values:
        samples, rate = _library().read(cell.strip(), dtype="float32", always_2d=True)
        sound = resampled(samples.mean(axis=1), rate, self.config.rate)
        if not np.isfinite(sound).all():
            raise DataError(f"{cell} holds samples that are not finite; record it again")
        frames = log_mel(sound, self.config, self._bands)
        spread = frames.std(axis=0)
        frames = (frames - frames.mean(axis=0)) / np.where(spread > 1e-5, spread, 1.0)
        return np.asarray(frames, np.float32)


def log_mel(sound: Samples, config: SoundConfig, bands: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of each band's power in each frame; a short sound is one frame."""
    window = round(config.window * config.rate / 1_000)
    step = max(1, round(config.step * config.rate / 1_000))
    if len(sound) < window:
        sound = np.pad(sound, (0, window - len(sound)))
    frames = np.lib.stride_tricks.sliding_window_view(sound, window)[::step]
    spectrum = np.fft.rfft(frames * np.hanning(window + 1)[:-1], _points(config))
    power = np.abs(spectrum) ** 2 @ bands.T
    return np.log(np.maximum(power, max(RANGE * float(power.max()), QUIET)))


def mel_bands(count: int, *, rate: int, points: int) -> NDArray[np.float64]:
    """The share of each point of the spectrum in each band: triangles that overlap by half."""
    mel = np.linspace(0, 2_595 * np.log10(1 + rate / 2 / 700), count + 2)
    corners = 700 * (10 ** (mel / 2_595) - 1)
    frequencies = np.fft.rfftfreq(points, 1 / rate)
    rise = (frequencies - corners[:-2, None]) / np.diff(corners)[:-1, None]
    fall = (corners[2:, None] - frequencies) / np.diff(corners)[1:, None]
    return np.maximum(0, np.minimum(rise, fall))


def resampled(sound: Samples, rate: int, wanted: int) -> Samples:
    """The sound at another rate; what the lower of the two cannot hold is left out."""
    if rate == wanted:
        return sound
    whole = rate // math.gcd(rate, wanted)  # samples that last as long as a number of wanted ones
    padded = np.pad(sound, (0, -len(sound) % whole))
    spectrum = np.fft.rfft(padded)
    length = len(padded) // whole * (wanted // math.gcd(rate, wanted))
    kept = np.zeros(length // 2 + 1, spectrum.dtype)
    shared = min(len(kept), len(spectrum))
    kept[:shared] = spectrum[:shared]
    made = np.fft.irfft(kept, length)[: max(1, round(len(sound) * wanted / rate))]
    return (made * (length / len(padded))).astype(np.float32)


def _points(config: SoundConfig) -> int:
    """The power of two that holds a window."""
    window = round(config.window * config.rate / 1_000)
    return int(1 << max(1, window - 1).bit_length())


def _library() -> Any:
    """Imported when a sound is read."""
    import soundfile  # type: ignore[import-untyped]

    return soundfile
