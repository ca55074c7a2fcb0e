"""Small data sets of pictures, sounds and videos, and options of tiny models for them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]
from PIL import Image

__all__ = [
    "NAMES",
    "QUICK",
    "SIZE",
    "SMALL",
    "options",
    "pictures_",
    "sound_options",
    "sounds_",
    "video_options",
    "videos_",
]

QUICK: dict[str, Any] = {
    "updates": 4, "validate_every": 4, "workers": 1, "curves": False, "batch_rows": 8,
}  # fmt: skip


SMALL: dict[str, Any] = {
    "embedding": 8,
    "decoder": {"kind": "transformer", "width": 8, "inner": 16, "heads": 2, "layers": 1},
}


SIZE = {"kind": "picture", "height": 8, "width": 8, "colour": False}


NAMES = ("dark", "light")


@pytest.fixture(name="pictures")
def pictures_(tmp_path: Path) -> Path:
    """Sixteen pictures, dark ones and light ones."""
    chance = np.random.default_rng(1)
    rows = []
    for number in range(16):
        light = number % 2
        pixels = chance.integers(0, 100, (8, 8)) + 150 * light
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"{number}.png")
        rows.append(f"{number}.png\t{NAMES[light]}\n")
    (tmp_path / "rows.tsv").write_text("".join(rows))
    return tmp_path / "rows.tsv"


def options(target: str, *, front: dict[str, Any], **training: Any) -> dict[str, Any]:
    model = {"front": front} if target == "label" else {**SMALL, "front": front}
    return {
        "source": SIZE, "target": {"kind": target}, "model": model,
        "training": {**QUICK, **training}, "data": {"valid_share": 0.25},
    }  # fmt: skip


@pytest.fixture(name="sounds")
def sounds_(tmp_path: Path) -> Path:
    """Sixteen tones, high ones and low ones, of different lengths."""
    rows = []
    for number in range(16):
        high = number % 2
        samples = np.sin(np.arange(1_000 + 100 * number) * (0.3 + high))
        soundfile.write(tmp_path / f"{number}.wav", samples, 8_000)
        rows.append(f"{number}.wav\t{('low', 'high')[high]}\n")
    (tmp_path / "sounds.tsv").write_text("".join(rows))
    return tmp_path / "sounds.tsv"


def sound_options(**training: Any) -> dict[str, Any]:
    return {
        "source": {"kind": "sound", "bands": 8},
        "model": {
            "embedding": 8,
            "front": {"kind": "sound", "width": 8},
            "encoder": {"width": 8, "layers": 1},
            "decoder": {"width": 8},
        },
        "training": {**QUICK, **training},
        "data": {"valid_share": 0.25},
    }


@pytest.fixture(name="videos")
def videos_(tmp_path: Path) -> Path:
    """Sixteen clips of a few frames, rising ones and falling ones."""
    rows = []
    for number in range(16):
        falls = number % 2
        levels = np.arange(2 + number % 4, dtype=np.uint8) * 40 + 10
        frames = np.broadcast_to(levels[:, None, None], (len(levels), 8, 8))
        np.save(tmp_path / f"{number}.npy", frames[::-1] if falls else frames)
        rows.append(f"{number}.npy\t{('it rises', 'it falls')[falls]}\n")
    (tmp_path / "videos.tsv").write_text("".join(rows))
    return tmp_path / "videos.tsv"


def video_options(target: str = "text", **data: Any) -> dict[str, Any]:
    block = {"kind": "transformer", "width": 8, "inner": 16, "heads": 2, "layers": 1}
    return {
        "source": {"kind": "video", "height": 8, "width": 8, "frames": 4},
        "target": {"kind": target},
        "model": {
            "embedding": 8,
            "front": {"widths": [4]},
            "encoder": block,
            **({"decoder": block} if target == "text" else {}),
        },
        "training": QUICK,
        "data": {"valid_share": 0.25, **data},
    }
