"""Small models that forecast, one of each kind."""

from typing import Any

import torch

from seqloom.config import ModelConfig, merge, validate
from seqloom.fields import Series
from seqloom.model import HeadModel, build

__all__ = [
    "COLUMNS",
    "HORIZON",
    "KNOWN",
    "LAGS",
    "MODELS",
    "QUANTILES",
    "RECURRENT",
    "SMALL",
    "TRANSFORMER",
    "WINDOW",
    "model",
]

WINDOW, HORIZON, COLUMNS, KNOWN, QUANTILES, LAGS = 6, 4, 2, 1, (0.1, 0.9), 3


SMALL = {"width": 8, "layers": 1, "dropout": 0.0}


RECURRENT = {"kind": "recurrent", **SMALL}


TRANSFORMER = {"kind": "transformer", "inner": 16, "heads": 2, **SMALL}


MODELS: dict[str, dict[str, Any]] = {
    "linear": {"encoder": {"kind": "values"}, "decoder": {"kind": "horizon"}},
    "perceptron": {"encoder": {"kind": "values"}, "decoder": {"kind": "horizon", "inner": 5}},
    "encoder at once": {"encoder": TRANSFORMER, "decoder": {"kind": "horizon"}},
    "encoder beside a linear path": {
        "encoder": TRANSFORMER,
        "decoder": {"kind": "horizon"},
        "linear": True,
    },
    "recurrent at once": {"encoder": RECURRENT, "decoder": {"kind": "horizon"}},
    "gru": {"encoder": {**RECURRENT, "unit": "gru"}, "decoder": {**RECURRENT, "unit": "gru"}},
    "lstm without attention": {"encoder": RECURRENT, "decoder": {**RECURRENT, "attention": "none"}},
    "transformer": {"encoder": TRANSFORMER, "decoder": TRANSFORMER},
    "gru beside a linear path": {
        "encoder": {**RECURRENT, "unit": "gru"},
        "decoder": {**RECURRENT, "unit": "gru"},
        "linear": True,
    },
    "one network": {
        "encoder": {"kind": "vectors"},
        "decoder": {**RECURRENT, "first_state": "read", "attention": "none"},
    },
}


def model(name: str, *, known: int = KNOWN, forced: float = 1.0) -> HeadModel:
    """A model in double precision with weights that are not zero."""
    plain = {"embedding": 8, "lags": LAGS, "share_vocabulary": False, "tie_output": False}
    options = merge(plain, MODELS[name])
    torch.manual_seed(1)
    config: ModelConfig = validate({"model": options}, place="test").model
    source = Series(COLUMNS + 1 + known, WINDOW, known=known)
    target = Series(COLUMNS, HORIZON, quantiles=QUANTILES, forced=forced)
    built = build(config, source=source, target=target).double().eval()
    assert isinstance(built, HeadModel)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return built
