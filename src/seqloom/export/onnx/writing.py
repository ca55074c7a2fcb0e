"""Export a model as a directory for onnxruntime.

DIR/  encoder.onnx decoder.onnx   of a model that writes: its first state, and one step
      model.onnx                  of a model with a head: from a source to labels or numbers
      start.npz                   of a language model, the first state in place of an encoder
      model.json                  names of symbols, special ids, limits of length
      run.py                      reads and writes ids with numpy and onnxruntime alone
      source/ target/             how text is cut into tokens, as in a run
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.export.directories import whole_directory
from seqloom.export.onnx.graphs import DecoderGraphs, save_head
from seqloom.export.refusals import no_counterpart
from seqloom.export.runtime import require_library
from seqloom.fields import EMPTY, END, START, UNK, Field
from seqloom.model import SequenceModel
from seqloom.prediction import Predictor

__all__ = ["export_onnx"]


def export_onnx(model: Predictor, output: Path) -> None:
    """Write a model as ONNX graphs; ConfigError if torch cannot trace it.

    The directory must not exist; it is created atomically.
    """
    for library in ("onnx", "onnxscript"):
        require_library(library, runtime="onnx", extra="onnx")
    with whole_directory(output) as folder:
        own = _write_graphs(model.network, model.source, folder)
        facts = json.dumps({**_facts(model), "own": own}, ensure_ascii=False, indent=1)
        (folder / "model.json").write_text(facts + "\n", encoding="utf-8")
        model.source.save(folder / "source")
        model.target.save(folder / "target")
        runner = files("seqloom.export.onnx").joinpath("runner.py").read_text(encoding="utf-8")
        (folder / "run.py").write_text(runner, encoding="utf-8")


def _write_graphs(network: Any, source: Field, folder: Path) -> list[str]:
    """Write the graphs of a network; return the names of the tensors that belong to one
    hypothesis.
    """
    network.eval()
    if network.head is not None:
        if network.head.is_aligned and network.head.feeds_back:  # as many steps as the source
            raise no_counterpart("onnx", "model.decoder.kind", "recurrent-tags")
        save_head(network, source.items, folder / "model.onnx")
        return []
    writer: SequenceModel = network
    graphs = DecoderGraphs(writer, source.items)
    graphs.save_step(folder / "decoder.onnx")
    if source.is_absent:
        values: Any = {
            name: leaf.numpy() for name, leaf in zip(graphs.names, graphs.leaves, strict=True)
        }
        np.savez(folder / "start.npz", **values)
    else:
        graphs.save_start(folder / "encoder.onnx")
    return graphs.own


def _facts(model: Predictor) -> dict[str, Any]:
    search, symbols = model.config.search, model.target.items.symbols
    limits = {"ratio": search.max_ratio, "extra": search.max_extra}
    if model.source.is_absent:
        limits = {"ratio": 0.0, "extra": search.length - 1}
    return {
        "dtype": "int64" if model.source.items.symbols is not None else "float32",
        "names": None if symbols is None else model.target.tokens(range(symbols.count)),
        "start": START,
        "end": END,
        "forbidden": [EMPTY, UNK, START],
        "limits": limits,
    }
