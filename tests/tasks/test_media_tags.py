"""S1.1: every frame of a recording or a video has a tag, from end to end."""

from pathlib import Path
from typing import Any

import numpy as np
import soundfile  # type: ignore[import-untyped]

from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.config import SoundConfig
from seqloom.fields import learn_field

SHORT: dict[str, Any] = {
    "workers": 1, "curves": False, "average": "none", "samples": 0, "updates": 60,
    "validate_every": 60, "rate": 2e-2, "warmup": 5,
}  # fmt: skip
ENCODER: dict[str, Any] = {"kind": "recurrent", "width": 8, "layers": 1, "dropout": 0.0}


def test_frames_of_a_recording_are_tagged(tmp_path: Path) -> None:
    """A low tone turns into a high one; frames across the turn may be either."""
    draw, cells, parts = np.random.default_rng(1), [], []
    for number in range(40):
        low, high = draw.integers(800, 2_400, size=2)
        samples = np.concatenate([np.sin(np.arange(low) * 0.3), np.sin(np.arange(high) * 1.3)])
        soundfile.write(tmp_path / f"{number}.wav", samples, 8_000)
        cells.append(str(tmp_path / f"{number}.wav"))
        parts.append(low / (low + high))
    options = SoundConfig.model_validate({"bands": 8})
    frames = [len(row) for row in learn_field(options, cells, seed=1).rows(cells)]
    rows = []
    for cell, count, part in zip(cells, frames, parts, strict=True):
        first = round(count * part)
        rows.append((cell, " ".join(["low"] * first + ["high"] * (count - first))))
    tables = {
        "source": {"kind": "sound", "bands": 8},
        "target": "tags",
        "model": {"embedding": 8, "encoder": ENCODER},
        "training": SHORT,
    }
    train(rows[:30], tmp_path / "run", valid=rows[30:35], options=tables)
    model = load(tmp_path / "run")
    assert evaluate(model, rows[30:]).scores[0].value >= 90
    assert len(model(cells[0]).text.split()) == frames[0]


def test_frames_of_a_video_are_tagged(tmp_path: Path) -> None:
    """Dark and light frames in any order."""
    draw, rows = np.random.default_rng(2), []
    for number in range(40):
        light = draw.integers(0, 2, size=draw.integers(2, 6))
        frames = draw.integers(0, 100, (len(light), 8, 8, 3)) + 150 * light[:, None, None, None]
        np.save(tmp_path / f"{number}.npy", frames.astype(np.uint8))
        tags = " ".join(("dark", "light")[each] for each in light)
        rows.append((str(tmp_path / f"{number}.npy"), tags))
    tables = {
        "source": {"kind": "video", "height": 8, "width": 8, "frames": 8},
        "target": "tags",
        "model": {
            "embedding": 8,
            "front": {"kind": "picture", "grid": "whole", "widths": [4]},
            "encoder": ENCODER,
        },
        "training": {**SHORT, "updates": 90},
    }
    train(rows[:30], tmp_path / "run", valid=rows[30:35], options=tables)
    model = load(tmp_path / "run")
    assert evaluate(model, rows[30:]).scores[0].value >= 95
    assert len(model(rows[0][0]).text.split()) == len(rows[0][1].split())
