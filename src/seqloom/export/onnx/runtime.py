"""The onnxruntime runtime: export, and verification of the exported model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seqloom.config import RUNTIMES
from seqloom.export.agreement import Agreement, log_probability_distance
from seqloom.export.onnx.writing import export_onnx
from seqloom.export.runtime import Runtime, require_library
from seqloom.fields import END
from seqloom.model import Source
from seqloom.prediction import Predictor, TextPredictor
from seqloom.search import Greedy

__all__ = ["OnnxRuntime"]

NEAR = 1e-3  # tolerance for equal numbers of a head


@RUNTIMES.part("onnx")
class OnnxRuntime(Runtime):
    """Exports every model; it is verified by the runner that is written beside the graphs."""

    def write(self, model: Predictor, output: Path) -> None:
        require_library("onnxruntime", runtime="onnx", extra="onnx")
        export_onnx(model, output)

    def compare(self, model: Predictor, folder: Path, rows: Sequence[np.ndarray]) -> Agreement:
        runner = require_library("seqloom.export.onnx.runner", runtime="onnx", extra="onnx")
        exported = runner.OnnxModel(folder)
        inputs = [np.asarray(row).astype(exported.facts["dtype"]) for row in rows]
        writer = model.as_text_predictor()
        if writer is None:
            return _compare_heads(model, exported, inputs)
        return _compare_writers(writer, exported, inputs)


def _compare_writers(
    model: TextPredictor, exported: Any, inputs: Sequence[np.ndarray]
) -> Agreement:
    """Compare greedy outputs and log-probabilities of their tokens."""
    equal, furthest = 0, 0.0
    for row, output in zip(inputs, model.predict_rows(inputs, search=Greedy()), strict=True):
        ids = exported.write(row)
        equal += model.target.cell(ids) == output.text
        theirs = exported.score(row, [*ids, END])
        furthest = max(furthest, log_probability_distance(model, row, ids, theirs))
    return Agreement(len(inputs), equal, furthest)


@torch.inference_mode()
def _compare_heads(model: Predictor, exported: Any, inputs: Sequence[np.ndarray]) -> Agreement:
    """Compare outputs of heads: equal if the best label, or every number, is the same."""
    network: Any = model.network
    equal, furthest = 0, 0.0
    for row in inputs:
        source = Source(torch.from_numpy(row)[None], torch.tensor([len(row)]))
        ours = network.head(network.encoder.encode(source))[0].numpy()
        theirs = exported.scores(row)
        apart = float(np.abs(ours - theirs).max())
        furthest = max(furthest, apart)
        labels = exported.facts["names"] is not None
        equal += bool((ours.argmax(-1) == theirs.argmax(-1)).all()) if labels else apart < NEAR
    return Agreement(len(inputs), equal, furthest)
