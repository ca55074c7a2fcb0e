"""Models that have learnt nothing, but whose outputs are varied and quickly made."""

from collections.abc import Sequence

import torch

from seqloom.config import Config, TextConfig, validate
from seqloom.fields import Symbols, TextField
from seqloom.model import build_sequence_model
from seqloom.prediction import TextPredictor
from seqloom.randomness import key

__all__ = ["SOURCES", "untrained"]

SOURCES = ["abc", "cab", "a", "bca ab", "cc", "b c"]
KINDS = {
    "lstm": ({"kind": "recurrent", "width": 6, "layers": 1}, {"width": 9}),
    "transformer": ({"kind": "transformer", "width": 8, "inner": 16, "heads": 2, "layers": 1}, {}),
}


def untrained(
    kind: str = "lstm",
    *,
    seed: int = 1,
    unit: str = "character",
    texts: Sequence[str] = ("a b c ab ba abc cab x y",),
) -> TextPredictor:
    """Drawn weights over a few characters or words."""
    encoder, changed = KINDS[kind]
    tables = {
        "model": {"embedding": 8, "encoder": encoder, "decoder": {**encoder, **changed}},
        "search": {"max_ratio": 1.0, "max_extra": 6},
    }
    config: Config = validate(tables, place="test")
    field = TextField.learn(TextConfig.model_validate({"unit": unit}), list(texts), seed=1)
    torch.manual_seed(key(seed, kind))
    network = build_sequence_model(
        config.model, source=Symbols(field.size), target=Symbols(field.size)
    )
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.9)
    return TextPredictor(config, field, field, network.double().eval())
