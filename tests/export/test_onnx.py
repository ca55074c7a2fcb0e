"""Exported graphs give in onnxruntime what the model gives here (issue 28.2)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest

from seqloom.api.interchange import export
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.export import export_onnx
from seqloom.export.onnx import OnnxRuntime, runner
from seqloom.prediction import TextPredictor
from seqloom.search import PLAIN, Beam
from tests.export.small_models import TEXTS, model_of, rows_of

pytest.importorskip("onnxruntime", reason="needs onnxruntime; pip install 'seqloom[onnx]'")
pytest.importorskip("onnxscript", reason="needs onnxscript; pip install 'seqloom[onnx]'")

NARROW: dict[str, Any] = {"kind": "recurrent", "width": 8, "layers": 1}
WIDE: dict[str, Any] = {"kind": "recurrent", "width": 16, "layers": 1}
BLOCKS: dict[str, Any] = {"kind": "transformer", "width": 16, "inner": 24, "heads": 2, "layers": 2}
NO_SOURCE = {"attention": "none", "first_state": "zero"}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "recurrent": {"encoder": NARROW, "decoder": {**WIDE, "layers": 2}},
    "Transformer": {},
}
OTHERS: dict[str, dict[str, Any]] = {
    "SSRU": {"decoder": {**BLOCKS, "mixing": "ssru"}},
    "simple attention": {"decoder": {**BLOCKS, "mixing": "simple"}},
    "rotary": {"both": {"positions": "rotary"}},
    "halved sinusoids": {"both": {"positions": "sinusoids-halved", "norm": "after"}},
    "GRU, additive, input feeding": {
        "encoder": {**NARROW, "unit": "gru"},
        "decoder": {**WIDE, "unit": "gru", "attention": {"score": "additive", "feed": True}},
    },
    "Elman, code": {
        "encoder": {**NARROW, "unit": "elman", "direction": "forward"},
        "decoder": {**WIDE, "unit": "elman", "attention": "none", "code": "input"},
    },
    "decoder reads the source": {
        "encoder": {"kind": "vectors"},
        "decoder": {**BLOCKS, "source": "read"},
    },
    "language model, Transformer": {"encoder": {"kind": "none"}, "decoder": BLOCKS},
    "language model, LSTM": {"encoder": {"kind": "none"}, "decoder": {**WIDE, **NO_SOURCE}},
}


@pytest.fixture(autouse=True)
def unchecked_shapes() -> Iterator[None]:
    """Sizes in a trace are symbols, which checks of shapes would pin down."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def check_writer(model: TextPredictor, folder: Path) -> None:
    """Every token of every output has the same log-probability; greedy and beam outputs agree."""
    export_onnx(model, folder)
    agreement = OnnxRuntime().compare(model, folder, rows_of(model))
    assert agreement.equal == agreement.sentences == len(TEXTS)
    assert agreement.max_difference < 1e-4
    exported = runner.OnnxModel(folder)
    outputs = model.predict_rows(rows_of(model), search=Beam(3, PLAIN))
    for row, output in zip(rows_of(model), outputs, strict=True):
        if output.stopped == "end":
            ids = exported.write(row.astype(np.int64), beam=3)
            assert model.target.decode(ids) == output.text


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_writers(name: str, tmp_path: Path) -> None:
    """Both kinds of decoder, with caches or states as inputs and outputs of a step."""
    check_writer(model_of(**{"both": {}, **ARCHITECTURES[name]}), tmp_path / "out")


@pytest.mark.shared_data
@pytest.mark.parametrize("name", OTHERS)
def test_every_other_architecture_that_writes(name: str, tmp_path: Path) -> None:
    """The same for every other form."""
    check_writer(model_of(**{"both": {}, **OTHERS[name]}), tmp_path / "out")


TRAINING = {"updates": 4, "validate_every": 4, "workers": 1}
WORDS = ["good film", "bad book", "a fine old film", "the poor book", "fine", "bad bad film"]
HEADS: dict[str, tuple[str, list[str]]] = {
    "label": ("label", ["yes", "no", "yes", "no", "yes", "no"]),
    "tags": ("tags", ["A N", "B N", "D A A N", "D B N", "A", "B B N"]),
    "number": ("number", ["1", "2.5", "3", "0", "-1", "7"]),
}


@pytest.mark.parametrize(
    "name", ["label", *(pytest.param(n, marks=pytest.mark.shared_data) for n in ("tags", "number"))]
)
def test_heads(name: str, tmp_path: Path) -> None:
    """Scores of labels and tags, and numbers; the runner alone gives the label of a row."""
    kind, targets = HEADS[name]
    pairs = list(zip(WORDS, targets, strict=True)) * 3
    options = {"target": {"kind": kind}, "training": TRAINING}
    train(pairs, tmp_path / "run", valid=pairs, options=options)
    agreement = export(tmp_path / "run", tmp_path / "out", to="onnx")
    assert agreement.equal == agreement.sentences
    assert agreement.max_difference < 1e-4
    if name == "label":
        model = load(tmp_path / "run")
        row = json.dumps(model.source.rows(["fine"])[0].tolist())
        command = [sys.executable, str(tmp_path / "out" / "run.py"), str(tmp_path / "out")]
        done = subprocess.run(command, input=row, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == {"labels": [model("fine").text]}


@pytest.mark.shared_data
def test_forecasts(tmp_path: Path) -> None:
    """Every step of every column, mean and quantiles."""
    lines = [f"{n},{np.sin(n / 5):.4f},{np.cos(n / 7):.4f}" for n in range(200)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["time,x,y", *lines]) + "\n", encoding="utf-8")
    series = {"target": {"kind": "series", "horizon": 4}, "source": {"window": 12}}
    train(table, tmp_path / "run", options={**series, "training": TRAINING})
    agreement = export(tmp_path / "run", tmp_path / "out", to="onnx")
    assert agreement.equal == agreement.sentences
    assert agreement.max_difference < 1e-4


def test_the_runner_needs_nothing_of_ours() -> None:
    """At most 100 lines, and numpy and onnxruntime beside the standard library."""
    text = Path(str(runner.__file__)).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    assert "seqloom." not in text
    assert "torch" not in text
