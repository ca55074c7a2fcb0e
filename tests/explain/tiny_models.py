"""Models and pairs to look at, tiny and untrained."""

import numpy as np
import torch

from seqloom.explanations.explained_output import ExplainedText
from seqloom.model import SequenceModel
from seqloom.randomness import key
from tests.model.models import NAMED, model_of

__all__ = ["KINDS", "PAIR", "named"]

PAIR = ExplainedText(
    ("a", "b", "c", "d", "<end>"),
    ("v", "w", "x", "<end>"),
    np.array([4, 5, 6, 7, 3], np.int32),
    target_ids=(8, 4, 5, 3),
)
# Every way to look, to feed, to read, every unit; with several layers and heads.
KINDS = [
    "lstm form e",
    "gru-take form everything",
    "gru-after form soft-summed",
    "elman form a",
    "additive local-bell previous-fed",
    "perceptron causal output",
    "general 3 heads",
    "deep both",
    "normed backward",
    "backwards affine",
    "one-hot perceptron",
    "lstm reads and writes",
    "gru alone",
    "after sinusoids",
    "gated rotary",
    "sizes learned",
    "simple joint",
    "ssru appended",
    "after rotary reads",
    "simple none reads",
    "plain one-hot alone",
    "backwards transformer",
    "vectors to transformer",
    "lstm to transformer",
    "transformer to form e",
]


def named(kind: str) -> SequenceModel:
    """The model of that name, in float64."""
    torch.manual_seed(key(1, kind))
    return model_of(NAMED[kind], source_size=9, target_size=9)
