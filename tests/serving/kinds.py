"""Models of every kind of column that have learnt nothing, and files for them to read."""

import io
from typing import Any

import numpy as np
import soundfile  # type: ignore[import-untyped]
import torch
from PIL import Image

from seqloom.config import validate
from seqloom.config.columns import (
    BlanksConfig,
    HorizonConfig,
    LabelConfig,
    NoColumnConfig,
    NumberConfig,
    PictureConfig,
    SoundConfig,
    TagsConfig,
    TextConfig,
    TurnsConfig,
    VectorConfig,
    WindowConfig,
)
from seqloom.fields import (
    BlanksField,
    Field,
    LabelField,
    NoField,
    NumberField,
    PictureField,
    SeriesField,
    SoundField,
    TagsField,
    TextField,
    TurnsField,
    VectorField,
)
from seqloom.model import build
from seqloom.prediction import Predictor
from seqloom.randomness import key
from seqloom.tasks import task_of

__all__ = ["HORIZON", "KINDS", "RATE", "WINDOW", "made", "picture", "recording", "series"]

RATE, WINDOW, HORIZON = 8_000, 6, 3
PART = {"kind": "transformer", "width": 8, "inner": 16, "heads": 2, "layers": 1}
UNITS = {"kind": "recurrent", "width": 6, "layers": 1}
LETTERS = TextField.learn(TextConfig(unit="character"), ["ab cd ef gh"], seed=1)
WORDS = TextField.learn(TextConfig(unit="word"), ["red old sun moon"], seed=1)
TURNS = TurnsField.learn(TurnsConfig(unit="character"), ["ab cd ef gh"], seed=1)
LABELS = LabelField.learn(LabelConfig(), ["cold", "mild", "warm"], seed=1)
COLUMNS = ["load", "wind"]
LEVELS = np.array([[10.0, 1.0], [30.0, 2.0], [20.0, 6.0]])

KINDS: dict[str, tuple[Field, Field, dict[str, Any]]] = {
    "caption": (
        PictureField(PictureConfig(height=8, width=16)),
        LETTERS,
        {
            "front": {"kind": "picture", "widths": [4, 6]},
            "encoder": {"kind": "vectors"},
            "decoder": PART,
        },
    ),
    "digit": (
        PictureField(PictureConfig(height=8, width=8, colour=False)),
        LABELS,
        {
            "front": {"kind": "picture", "widths": [4, 6]},
            "encoder": {"kind": "vectors"},
            "decoder": {"kind": "label"},
        },
    ),
    "speech": (
        SoundField(SoundConfig(bands=8), RATE),
        LETTERS,
        {"front": {"kind": "sound"}, "encoder": UNITS, "decoder": UNITS},
    ),
    "mood": (WORDS, LABELS, {"encoder": PART, "decoder": {"kind": "label"}}),
    "parts": (
        WORDS,
        TagsField.learn(TagsConfig(), ["ADJ NOUN"], seed=1),
        {"encoder": PART, "decoder": {"kind": "tags"}},
    ),
    "gaps": (
        WORDS,
        BlanksField.from_source(BlanksConfig(marker="[?]"), WORDS),
        {"encoder": {**UNITS, "direction": "around"}, "decoder": {"kind": "blanks"}},
    ),
    "hiding": (
        WORDS,
        BlanksField.from_source(BlanksConfig(marker="[?]"), WORDS),
        {"encoder": PART, "decoder": {"kind": "blanks"}},
    ),
    "price": (
        WORDS,
        NumberField.learn(NumberConfig(), ["1", "2", "4"], seed=1),
        {"encoder": PART, "decoder": {"kind": "number"}},
    ),
    "named": (LABELS, LETTERS, {"encoder": {"kind": "vectors"}, "decoder": UNITS}),
    "measured": (
        VectorField.learn(VectorConfig(), ["1 2", "3 5"], seed=1),
        LABELS,
        {"encoder": {"kind": "vectors"}, "decoder": {"kind": "label"}},
    ),
    "chat": (TURNS, LETTERS, {"encoder": PART, "decoder": PART}),
    "tone": (TURNS, LABELS, {"encoder": PART, "decoder": {"kind": "label"}}),
    "tale": (
        NoField(NoColumnConfig()),
        LETTERS,
        {"encoder": {"kind": "none"}, "decoder": PART},
    ),
    "load": (
        SeriesField.from_rows(WindowConfig(window=WINDOW), COLUMNS, LEVELS),
        SeriesField.from_rows(HorizonConfig(horizon=HORIZON), COLUMNS, LEVELS),
        {"encoder": {"kind": "values"}, "decoder": {"kind": "horizon"}},
    ),
}


def made(name: str) -> Predictor:
    """The model of that name, with drawn weights."""
    source, target, parts = KINDS[name]
    tables = {
        "source": source.config.model_dump(mode="json"),
        "target": target.config.model_dump(mode="json"),
        "model": {"embedding": 8, "share_vocabulary": False, **parts},
        "data": {"turns": source.config.kind == "turns"},
        "search": {"max_ratio": 1.0, "max_extra": 6, "length": 8},
    }
    config = validate(tables, place="test")
    torch.manual_seed(key(1, name))
    network = build(config.model, source=source.items, target=target.items)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    model: Predictor = task_of(config).predictor(config, source, target, network.eval())
    return model


def picture(width: int = 20, height: int = 10, *, kind: str = "PNG") -> bytes:
    """A file with a dark square at the left."""
    page = Image.new("RGB", (width, height), "white")
    page.paste((30, 60, 90), (1, 1, height - 1, height - 1))
    stream = io.BytesIO()
    page.save(stream, kind)
    return stream.getvalue()


def recording(seconds: float = 0.5, *, kind: str = "WAV", rate: int = RATE) -> bytes:
    """A file with a rising tone."""
    time = np.arange(int(seconds * rate)) / rate
    stream = io.BytesIO()
    soundfile.write(stream, 0.5 * np.sin(2 * np.pi * (300 + 400 * time) * time), rate, format=kind)
    return stream.getvalue()


def series(steps: int = WINDOW) -> dict[str, list[Any]]:
    """Hours with two columns."""
    return {
        "time": [f"2026-01-05 {hour:02}:00" for hour in range(steps)],
        "load": [10.0 + 5 * (hour % 4) for hour in range(steps)],
        "wind": [1.5 + hour % 3 for hour in range(steps)],
    }
