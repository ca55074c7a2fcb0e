"""Attention: a score, heads, a focus, and the weighted sum they give (S4).

Keys are prepared once per sentence; a step then computes only what depends on the query, and all
queries of a sentence, whichever path or step they come from, are compared in one product.
"""

from seqloom.nn.attention.heads import HeadProjections
from seqloom.nn.attention.local import Focus, PredictedFocus, Reach, TimeFocus
from seqloom.nn.attention.module import Attention, AttentionSource
from seqloom.nn.attention.scores import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    MLPScore,
    ScaledDotScore,
    ScaledGeneralScore,
    ScoreFunction,
    ScoreSizes,
)

__all__ = [
    "AdditiveScore",
    "Attention",
    "AttentionSource",
    "ConcatScore",
    "DotScore",
    "Focus",
    "GeneralScore",
    "HeadProjections",
    "MLPScore",
    "PredictedFocus",
    "Reach",
    "ScaledDotScore",
    "ScaledGeneralScore",
    "ScoreFunction",
    "ScoreSizes",
    "TimeFocus",
]
