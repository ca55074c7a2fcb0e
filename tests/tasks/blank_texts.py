"""Texts in which every blank follows from the other words, and tiny models for them."""

from itertools import product
from typing import Any

from tests.runs.support import options

__all__ = ["KINDS", "TEXTS", "WORDS", "chosen"]

WORDS = ("red", "green", "blue", "old", "new")


TEXTS = [f"{a} and {a} but {b} or {b} ." for a, b in product(WORDS, WORDS)]
"""Every word follows from the others, and none from its neighbours."""


KINDS = ("lstm", "transformer")


def chosen(preset: str = "lstm", **training: Any) -> dict[str, Any]:
    """The smallest model of gaps."""
    base = options(preset, dropout=0.0, **training)
    encoder = {**base["model"]["encoder"], "width": 16}
    if preset == "lstm":
        encoder["direction"] = "around"
    return {
        **base,
        "source": {"unit": "symbol"},
        "target": {"kind": "blanks"},
        "model": {"embedding": 16, "encoder": encoder, "decoder": {"dropout": 0.0}},
    }
