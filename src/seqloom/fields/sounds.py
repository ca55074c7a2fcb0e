"""A column of recordings as log-mel frames (S3.5).

A frame is some 25 milliseconds under a Hann window; its power is summed over bands of equal width
on the mel scale, mel(f) = 2595 log10(1 + f / 700), and the logarithm taken. Each band is
standardized over the recording, so loudness does not matter.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.config.columns import COLUMNS, SoundConfig
from seqloom.errors import DataError, RunError
from seqloom.fields.file_fields import UPLOAD_NAME, FileField
from seqloom.fields.items import Numbers, Values
from seqloom.fields.protocol import UploadLimits
from seqloom.tokenizers.specials import FieldState

__all__ = ["SoundField", "log_mel", "mel_bands", "resample"]

QUIET = 1e-30  # floor of power, ...
RANGE = 1e-8  # ... and floor relative to the loudest
LONGEST = 3_600  # seconds of a recording
DENSEST = 384_000  # samples of all channels in a second
UPLOAD_SIGNATURES = (b"RIFF", b"fLaC", b"OggS")  # signatures of allowed uploads
HIGHEST = 16_000  # default sampling rate, enough for speech
RATE_SAMPLE = 100  # recordings inspected for their rate
CHUNK = 4_096  # frames in memory at a time
UNREADABLE = (RuntimeError, TypeError, OSError, ValueError)
UNKNOWN = "{} cannot be read as sound; give a WAV, FLAC or OGG file"
Samples = NDArray[np.float32]


@COLUMNS.part("sound")
class SoundField(FileField[SoundConfig]):
    """A field of sound files; a row has a frame every few milliseconds."""

    takes_uploads: ClassVar[bool] = True
    length_unit: ClassVar[str] = "frames"

    def __init__(self, config: SoundConfig, rate: int) -> None:
        super().__init__(config)
        self.rate = rate  # samples a second

    @classmethod
    def learn(cls, config: SoundConfig, cells: Iterable[str], *, seed: int) -> Self:
        """Learn the sampling rate, if not set: the highest of some recordings."""
        if config.rate:
            return cls(config, config.rate)
        rates = [_rate(cell) for cell in islice(cells, RATE_SAMPLE)]
        return cls(config, min(HIGHEST, max(rates, default=0) or HIGHEST))

    @classmethod
    def restore(cls, config: SoundConfig, facts: Mapping[str, Any], directory: Path) -> Self:
        """As it was saved; RunError where it was not so."""
        rate = facts.get("rate")
        if not isinstance(rate, int) or not 1 <= rate <= 192_000:
            raise RunError("its rate is damaged", place=directory, remedy="restore it from a copy")
        return cls(config, rate)

    @property
    def items(self) -> Numbers:
        """The bands of a frame."""
        return Numbers(self.config.bands)

    def facts(self) -> dict[str, Any]:
        """Facts for clients: the sampling rate."""
        return {"rate": self.rate}

    def read_upload(self, content: bytes, limits: UploadLimits) -> Values:
        """Encode an upload; DataError if it is not a recording or too long."""
        if not content.startswith(UPLOAD_SIGNATURES):
            raise DataError(UNKNOWN.format(UPLOAD_NAME))
        return self._frames(*_samples(BytesIO(content), UPLOAD_NAME, longest=limits.seconds))

    def cell(self, row: Any) -> str:
        """A placeholder text for a recording."""
        return f"<{len(row) * self.config.step / 1_000:.1f} seconds of sound>"

    def tokens(self, row: Any) -> list[str]:
        """The start time of each frame."""
        return [f"{number * self.config.step / 1_000:.2f} s" for number in range(len(row))]

    def describe(self) -> str:
        """What a frame is."""
        bands, step = self.config.bands, self.config.step
        return f"sound of {self.rate:,} samples a second, {bands} bands every {step:g} ms"

    def _state(self) -> FieldState:
        return FieldState({"rate": self.rate})

    @cached_property
    def _bands(self) -> NDArray[np.float64]:
        return mel_bands(self.config.bands, rate=self.rate, points=_points(self.config, self.rate))

    def _row(self, cell: str) -> Values:
        return self._frames(*_samples(cell.strip(), cell))

    def _frames(self, samples: Samples, rate: int) -> Values:
        sound = resample(samples, rate, self.rate)
        frames = log_mel(sound, self.rate, self.config, self._bands)
        spread = frames.std(axis=0)
        frames = (frames - frames.mean(axis=0)) / np.where(spread > 1e-5, spread, 1.0)
        return np.asarray(frames, np.float32)


def log_mel(
    sound: Samples, rate: int, config: SoundConfig, bands: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The log-mel spectrogram; a short sound is one frame."""
    window = _window(config, rate)
    step = max(1, round(config.step * rate / 1_000))
    points = 2 * (bands.shape[1] - 1)
    if len(sound) < window:
        sound = np.pad(sound, (0, window - len(sound)))
    frames = np.lib.stride_tricks.sliding_window_view(sound, window)[::step]
    cosine = np.hanning(window + 1)[:-1]
    power: NDArray[np.float64] = np.concatenate(
        [
            np.abs(np.fft.rfft(frames[start : start + CHUNK] * cosine, points)) ** 2 @ bands.T
            for start in range(0, len(frames), CHUNK)
        ]
    )
    floor = max(RANGE * float(power.max()), QUIET)
    return np.asarray(np.log(np.maximum(power, floor)), np.float64)


def mel_bands(count: int, *, rate: int, points: int) -> NDArray[np.float64]:
    """The mel filter bank: triangles that overlap by half."""
    corners = _corners(count, rate)
    frequencies = np.fft.rfftfreq(points, 1 / rate)
    rise = (frequencies - corners[:-2, None]) / np.diff(corners)[:-1, None]
    fall = (corners[2:, None] - frequencies) / np.diff(corners)[1:, None]
    return np.maximum(0, np.minimum(rise, fall))


def resample(sound: Samples, rate: int, wanted: int) -> Samples:
    """Resample the sound, band-limited to the lower of the two rates."""
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


def _corners(count: int, rate: int) -> NDArray[np.float64]:
    """The corner frequencies of bands in hertz, equally spaced in mel."""
    mel = np.linspace(0, 2_595 * np.log10(1 + rate / 2 / 700), count + 2)
    return np.asarray(700 * (10 ** (mel / 2_595) - 1))


def _window(config: SoundConfig, rate: int) -> int:
    return max(2, round(config.window * rate / 1_000))


def _points(config: SoundConfig, rate: int) -> int:
    """The FFT size: a power of two that holds a window and resolves the narrowest band."""
    narrowest = float(_corners(config.bands, rate)[1])
    least = max(_window(config, rate), math.ceil(rate / narrowest))
    return int(1 << (least - 1).bit_length())


def _rate(cell: str) -> int:
    """The sampling rate of a recording; 0 if it cannot be read."""
    try:
        return int(_library().info(cell.strip()).samplerate)
    except UNREADABLE:
        return 0


def _samples(file: str | BytesIO, name: str, *, longest: float = LONGEST) -> tuple[Samples, int]:
    """Read the samples, mixed to mono, and the sampling rate; DataError if there are none.

    The header is checked before any sample is read.
    """
    library = _library()
    try:
        information = library.info(file)
        if isinstance(file, BytesIO):
            file.seek(0)
        frames, channels = information.frames, information.channels
        if not 0 < frames <= longest * min(information.samplerate, DENSEST // channels):
            seconds = f"{information.duration:,.0f} seconds" if frames else "no sound"
            most = "an hour" if longest == LONGEST else f"{longest:g} seconds"
            raise DataError(f"{name} has {seconds}", remedy=f"give a recording of up to {most}")
        samples, rate = library.read(file, dtype="float32", always_2d=True)
    except UNREADABLE:
        there = " that is there" if isinstance(file, str) else ""
        raise DataError(UNKNOWN.format(name) + there) from None
    sound = np.asarray(samples.mean(axis=1), np.float32)
    if not len(sound) or not np.isfinite(sound).all():
        raise DataError(f"{name} holds samples that are not finite", remedy="record it again")
    return sound, int(rate)


def _library() -> Any:
    """Imported when a sound is read."""
    import soundfile  # type: ignore[import-untyped]

    return soundfile
