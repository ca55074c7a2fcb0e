"""Small untrained models over characters, for whatever is exported."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from seqloom.config import TextConfig, validate
from seqloom.fields import Symbols, TextField
from seqloom.model import build_sequence_model
from seqloom.prediction import TextPredictor
from seqloom.randomness import key

__all__ = ["RECURRENT", "TEXTS", "model_of", "rows_of"]

TEXTS = ["the quick brown fox", "jumps over lazy dogs", "a", "by the sea", "x y z"]
RECURRENT = {"kind": "recurrent", "width": 8, "layers": 1}


def model_of(
    both: Mapping[str, Any], *, encoder: Any = None, decoder: Any = None, **tables: Any
) -> TextPredictor:
    """A small untrained model over characters, with weights that let it choose."""
    sizes = {"kind": "transformer", "width": 16, "inner": 24, "heads": 2, "layers": 2, **both}
    config = validate(
        {
            "model": {
                "embedding": 16,
                "tie_output": sizes["width"] == 16,
                **tables,
                "encoder": encoder or sizes,
                "decoder": decoder or sizes,
            },
            "search": {"max_ratio": 1.0, "max_extra": 4, "beam": 3},
        },
        place="test",
    )
    source = TextField.learn(TextConfig(unit="character"), TEXTS, seed=1)
    target = source
    if not config.model.share_vocabulary:
        target = TextField.learn(TextConfig(unit="character"), ["other letters 123"], seed=1)
    torch.manual_seed(key(1, repr(config.model)))
    network = build_sequence_model(
        config.model, source=Symbols(source.size), target=Symbols(target.size)
    )
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.25)
    return TextPredictor(config, source, target, network.eval())


def rows_of(model: TextPredictor) -> list[np.ndarray]:
    return list(model.source.rows(TEXTS))
