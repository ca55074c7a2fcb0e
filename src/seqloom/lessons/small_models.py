"""Small encoder–decoders for lessons."""

from typing import Any

from seqloom.config import ModelConfig
from seqloom.fields import Symbols
from seqloom.lessons.draws import draw_module
from seqloom.model import SequenceModel, build_sequence_model

__all__ = ["FORMS", "recurrent_model", "transformer_model"]

FORMS: dict[str, dict[str, Any]] = {
    "a": {"feedback": "none", "attention": "none"},
    "b": {"attention": "none"},
    "c": {"code": "input", "attention": "none"},
    "d": {"code": "input-output", "attention": "none"},
    "e": {},
}
"""Options of the decoder for each form of docs/encoder-decoder.md."""


def recurrent_model(form: str, *, words: int = 9, width: int = 6) -> SequenceModel:
    """A one-layer recurrent model whose decoder has this form, in double precision."""
    side = {"kind": "recurrent", "unit": "gru", "width": width, "layers": 1, "dropout": 0.0}
    tables = {
        "embedding": 5,
        "share_vocabulary": False,
        "tie_output": False,
        "encoder": {**side, "direction": "forward"},
        "decoder": {**side, **FORMS[form]},
    }
    return _model(tables, words)


def transformer_model(*, words: int = 9, width: int = 8) -> SequenceModel:
    """A Transformer with one block per side, in double precision."""
    side = {
        "kind": "transformer", "width": width, "inner": 2 * width, "heads": 2, "layers": 1,
        "dropout": 0.0,
    }  # fmt: skip
    tables = {"embedding": width, "share_vocabulary": False, "tie_output": False}
    return _model({**tables, "encoder": side, "decoder": side}, words)


def _model(tables: dict[str, Any], words: int) -> SequenceModel:
    config = ModelConfig.model_validate(tables)
    return draw_module(
        lambda: build_sequence_model(config, source=Symbols(words), target=Symbols(words))
    )
