"""Untrained models of every kind that `load` gives, each with an input to look at."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile  # type: ignore[import-untyped]
import torch
from PIL import Image

from seqloom.config import BlanksConfig, Config, validate
from seqloom.fields import (
    BlanksField,
    Field,
    NumberField,
    SeriesField,
    TextField,
    learn_field,
)
from seqloom.model import HeadModel, SequenceModel, build
from seqloom.prediction import (
    Forecaster,
    HeadPredictor,
    MaskFiller,
    NumberPredictor,
    Predictor,
    TextPredictor,
)
from seqloom.randomness import key

__all__ = ["KINDS", "Case", "case"]

RECURRENT = {"kind": "recurrent", "unit": "lstm", "width": 6, "layers": 1, "dropout": 0.0}
BLOCKS = {"kind": "transformer", "width": 8, "inner": 12, "heads": 2, "layers": 2}
WORDS = {"kind": "text", "unit": "word"}
LINES = ["a b c d", "b d", "c a b"]
WINDOW = {"kind": "series", "window": 5}
AHEAD = {"kind": "series", "horizon": 3}
PICTURE = {"kind": "picture", "height": 12, "width": 18, "colour": False}
FRONT = {"kind": "picture", "widths": [4, 6], "grid": "cells"}
VIDEO = {"kind": "video", "frames": 3, "height": 4, "width": 6, "colour": False}
SOUND = {"kind": "sound", "rate": 8_000, "bands": 10}


HEADS = {
    kind: {"encoder": {"kind": "vectors"}, "decoder": {"kind": head}}
    for kind, head in (
        ("label", "label"), ("tags", "tags"), ("number", "number"), ("series", "horizon"),
        ("blanks", "blanks"),
    )
}  # fmt: skip
ALONE = {**RECURRENT, "width": 8, "attention": "none", "first_state": "zero", "code": "none"}


class Kind(NamedTuple):
    """The tables of a configuration, and a cell of the source."""

    source: dict[str, Any]
    target: dict[str, Any]
    model: dict[str, Any]
    cell: str


class Case(NamedTuple):
    """A model, and an input that it can read."""

    model: Predictor
    cell: str


LABEL, TAGS, NUMBER, GAPS, NONE = (
    {"kind": kind} for kind in ("label", "tags", "number", "blanks", "none")
)
FIVE = "1 2; 2 1; 3 0; 2 2; 1 4"
KINDS: dict[str, Kind] = {
    "label": Kind(WORDS, LABEL, {"encoder": RECURRENT}, "a b c"),
    "label by blocks": Kind(WORDS, LABEL, {"encoder": BLOCKS}, "a b c"),
    "tags": Kind(WORDS, TAGS, {"encoder": RECURRENT}, "a b c"),
    "tags by blocks": Kind(WORDS, TAGS, {"encoder": BLOCKS}, "a b c"),
    "recurrent tags": Kind(WORDS, TAGS, {"encoder": RECURRENT, "decoder": {"kind": "recurrent-tags",
                           "width": 5, "dropout": 0.0}}, "a b c"),
    "ctc": Kind(WORDS, WORDS, {"encoder": RECURRENT, "decoder": {"kind": "ctc", "dropout": 0.0}},
                "a b c"),
    "spelt tags": Kind({**WORDS, "unit": "symbol", "spelling": 8}, TAGS, {"encoder": RECURRENT},
                       "a b c"),
    "gaps": Kind(WORDS, GAPS, {"encoder": {**RECURRENT, "direction": "around"}}, "a ___ c ___"),
    "gaps by blocks": Kind(WORDS, GAPS, {"encoder": BLOCKS}, "a ___ c ___"),
    "number": Kind(WORDS, NUMBER, {"encoder": RECURRENT}, "a b c"),
    "language": Kind(NONE, WORDS, {"encoder": NONE, "decoder": ALONE}, "a b c"),
    "language by blocks": Kind(NONE, WORDS, {"encoder": NONE, "decoder": BLOCKS}, "a b c"),
    "from label": Kind(LABEL, WORDS, {"encoder": RECURRENT, "decoder": {**RECURRENT, "width": 8}},
                       "no"),
    "vector": Kind({"kind": "vector"}, LABEL, {}, "1 2 3"),
    "series": Kind(WINDOW, AHEAD, {"encoder": RECURRENT, "decoder": RECURRENT, "lags": 3}, FIVE),
    "series by blocks": Kind(WINDOW, AHEAD, {"encoder": BLOCKS, "decoder": BLOCKS}, FIVE),
    "series backwards": Kind(WINDOW, AHEAD, {"encoder": RECURRENT, "decoder": RECURRENT,
                                             "reverse_source": True}, FIVE),
    "series beside a linear path": Kind(
        WINDOW, AHEAD, {"encoder": RECURRENT, "decoder": RECURRENT, "lags": 3, "linear": True}, FIVE
    ),
    "series at once by blocks": Kind(
        WINDOW, AHEAD, {"encoder": BLOCKS, "decoder": {"kind": "horizon"}, "linear": True}, FIVE
    ),
    "linear series": Kind(WINDOW, AHEAD, {"encoder": {"kind": "values"}}, FIVE),
    "picture": Kind(PICTURE, WORDS, {"front": FRONT, "encoder": {"kind": "vectors"},
                                     "decoder": BLOCKS}, "noise.png"),
    "picture to label": Kind(PICTURE, LABEL, {"front": FRONT, "encoder": {"kind": "vectors"}},
                             "noise.png"),
    "colour picture to label": Kind({**PICTURE, "colour": True}, LABEL,
                                    {"front": FRONT, "encoder": {"kind": "vectors"}}, "noise.png"),
    "video by blocks": Kind(VIDEO, WORDS, {"front": {**FRONT, "grid": "whole"}, "encoder": BLOCKS,
                                           "decoder": BLOCKS}, "moves.npy"),
    "sound": Kind(SOUND, WORDS, {"front": {"kind": "sound", "width": 8}, "encoder": RECURRENT,
                                 "decoder": {**RECURRENT, "width": 8}}, "tone.wav"),
}  # fmt: skip


def case(name: str, folder: Path) -> Case:
    """The model of that name with drawn weights, in double precision where it reads no file."""
    kind = KINDS[name]
    cell = kind.cell
    if "." in cell:
        cell = str(folder / cell)
        _file(folder, kind.cell)
    source, target = _fields(kind)
    head = HEADS.get(kind.target["kind"], {})
    shapes = {"embedding": 8, "share_vocabulary": False, "tie_output": False, **head, **kind.model}
    tables = {"source": kind.source, "target": kind.target, "model": shapes}
    config: Config = validate(tables, place="test")
    torch.manual_seed(key(1, name))
    network = build(config.model, source=source.items, target=target.items).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return Case(_predictor(config, source, target, network), cell)


def _predictor(
    config: Config, source: Field, target: Field, network: SequenceModel | HeadModel
) -> Predictor:
    if isinstance(network, SequenceModel) and isinstance(target, TextField):
        return TextPredictor(config, source, target, network)
    if isinstance(source, TextField) and isinstance(target, BlanksField):
        return MaskFiller(config, source, target, network)  # type: ignore[arg-type]
    if isinstance(source, SeriesField) and isinstance(target, SeriesField):
        return Forecaster(config, source, target, network)  # type: ignore[arg-type]
    if isinstance(target, NumberField):
        return NumberPredictor(config, source, target, network)  # type: ignore[arg-type]
    return HeadPredictor(config, source, target, network)  # type: ignore[arg-type]


def _fields(kind: Kind) -> tuple[Field, Field]:
    source = _field(kind.source)
    if kind.target != GAPS:
        return source, _field(kind.target)
    if not isinstance(source, TextField):
        raise TypeError("gaps are those of a text")
    return source, BlanksField.from_source(BlanksConfig(), source)


def _field(tables: dict[str, Any]) -> Field:
    side = "target" if "horizon" in tables or tables["kind"] in ("tags", "number") else "source"
    config = getattr(validate({side: tables}, place="test"), side)
    if tables["kind"] == "series":
        return SeriesField.from_rows(config, ("up", "down"), np.array([[1.0, 2.0], [3.0, 5.0]]))
    cells = {"label": ["no", "yes"], "tags": ["N V"], "number": ["1", "4"], "vector": ["1 2 3",
             "3 0 1"]}.get(tables["kind"], LINES)  # fmt: skip
    return learn_field(config, cells, seed=1)


def _file(folder: Path, name: str) -> None:
    if name.endswith("png"):
        Image.effect_noise((18, 12), 60).save(folder / name)
    elif name.endswith("npy"):
        np.save(folder / name, np.arange(72, dtype=np.uint8).reshape(3, 4, 6) * 3)
    else:
        soundfile.write(folder / name, np.sin(np.arange(2_000) / 3), 8_000)
