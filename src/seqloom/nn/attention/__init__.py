"""Attention: a score, heads, a focus, and the weighted sum they give (SPEC S4).

Keys are prepared once per sentence; a step then costs only what depends on the query, and all
queries of a sentence, whichever path or step they come from, are compared in one product.
"""

from seqloom.nn.attention.heads import Heads
from seqloom.nn.attention.local import Focus, PredictedFocus, Reach, TimeFocus
from seqloom.nn.attention.module import Attention, Prepared
from seqloom.nn.attention.scores import Additive, Concatenation, Dot, General, Perceptron, Score

__all__ = [
    "Additive",
    "Attention",
    "Concatenation",
    "Dot",
    "Focus",
    "General",
    "Heads",
    "Perceptron",
    "PredictedFocus",
    "Prepared",
    "Reach",
    "Score",
    "TimeFocus",
]
