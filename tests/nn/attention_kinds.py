"""Every kind of attention, small, and what each computes, written a second time in NumPy."""

import math
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.nn.attention import (
    AdditiveScore,
    Attention,
    ConcatScore,
    DotScore,
    Focus,
    GeneralScore,
    HeadProjections,
    MLPScore,
    PredictedFocus,
    ScoreFunction,
    TimeFocus,
)
from tests.nn.parts import stirred

__all__ = ["KEY", "KINDS", "QUERY", "Kind", "attention_of", "reference"]

QUERY, KEY = 3, 4
HEAD = 2  # the size of a head's queries and keys
INNER = 3  # of scores with a layer of their own
WINDOW = 2

Array = NDArray[np.float64]


class Kind(NamedTuple):
    """One choice for each part."""

    score: str
    heads: int
    focus: str
    causal: bool

    def __str__(self) -> str:
        reach = "causal" if self.causal else "whole"
        return f"{self.score}-{self.heads}-{self.focus}-{reach}"

    @property
    def query(self) -> int:
        """The plain dot needs equal sizes; heads map both to one size."""
        equal = self.heads == 1 and self.score in {"dot", "scaled"}
        return KEY if equal else QUERY


SCORES = ("dot", "scaled", "general", "scaled-general", "additive", "concatenation", "perceptron")
FOCI = ("none", "time", "time-gaussian", "predicted")
KINDS = [Kind(*choice) for choice in product(SCORES, (1, 2, 3), FOCI, (False, True))]


def attention_of(kind: Kind, *, seed: int) -> Attention:
    """That kind in float64, with weights that are all far from zero."""
    torch.manual_seed(seed)
    heads = (
        HeadProjections(kind.query, KEY, width=HEAD, count=kind.heads) if kind.heads > 1 else None
    )
    sizes = (HEAD, HEAD) if kind.heads > 1 else (kind.query, KEY)
    attention = Attention(
        score_of(kind.score, *sizes), heads=heads, focus=focus_of(kind), causal=kind.causal
    )
    return stirred(attention)


def score_of(name: str, query: int, key: int) -> ScoreFunction:
    factor = 1 / math.sqrt(max(query, key)) if name.startswith("scaled") else 1.0
    if name in {"dot", "scaled"}:
        return DotScore(factor=factor)
    if name in {"general", "scaled-general"}:
        return GeneralScore(query, key, factor=factor)
    kinds: dict[str, Callable[[int, int, int], ScoreFunction]] = {
        "additive": AdditiveScore,
        "concatenation": ConcatScore,
        "perceptron": MLPScore,
    }
    return kinds[name](query, key, INNER)


def focus_of(kind: Kind) -> Focus | None:
    match kind.focus:
        case "time":
            return TimeFocus(WINDOW)
        case "time-gaussian":
            return TimeFocus(WINDOW, gaussian=True)
        case "predicted":
            return PredictedFocus(kind.query, 3, window=WINDOW)
        case _:
            return None


def reference(
    kind: Kind, weights: dict[str, Array], query: Array, states: Array, at: int
) -> tuple[Array, Array]:
    """Context and mean weights of one query at step `at` over one sentence without padding."""
    last = min(at, len(states) - 1) if kind.causal else len(states) - 1
    middle = middle_of(kind, weights, query, at=at, last=last)
    beside = [
        added(kind, position - middle) if position <= last else -math.inf
        for position in range(len(states))
    ]
    contexts, shares = [], []
    for head in range(kind.heads):
        mapped, keys = query, states
        if kind.heads > 1:
            rows = slice(head * HEAD, (head + 1) * HEAD)
            mapped = weights["heads.from_query.weight"][rows] @ query
            keys = states @ weights["heads.from_key.weight"][rows].T
        scores = np.array([compared(kind.score, weights, mapped, key) for key in keys]) + beside
        powers = np.exp(scores - scores.max())
        shares.append(powers / powers.sum())
        contexts.append(shares[-1] @ states)
    return np.concatenate(contexts), np.mean(shares, axis=0)


def compared(name: str, weights: dict[str, Array], query: Array, key: Array) -> float:
    """S4.1, letter by letter."""
    own = {part.removeprefix("score."): value for part, value in weights.items()}
    both = np.concatenate([query, key])
    match name:
        case "dot" | "scaled":
            found = query @ key
        case "general" | "scaled-general":
            found = query @ own["map.weight"] @ key
        case "additive":
            inner = own["from_query.weight"] @ query + own["from_key.weight"] @ key
            found = own["weigh.weight"][0] @ np.tanh(inner)
        case "concatenation":
            found = own["weigh.weight"][0] @ np.tanh(own["map.weight"] @ both)
        case _:
            first = np.maximum(0, own["first.weight"] @ both + own["first.bias"])
            second = np.maximum(0, own["second.weight"] @ first + own["second.bias"])
            found = own["weigh.weight"][0] @ second
    scale = math.sqrt(max(len(query), len(key))) if name.startswith("scaled") else 1.0
    return float(found) / scale


def middle_of(kind: Kind, weights: dict[str, Array], query: Array, *, at: int, last: int) -> float:
    """Where the window is (S4.3)."""
    if kind.focus != "predicted":
        return min(at, last)
    inner = np.tanh(weights["focus.map.weight"] @ query)
    return last / (1 + math.exp(-float(weights["focus.weigh.weight"][0] @ inner)))


def added(kind: Kind, distance: float) -> float:
    """What the window adds to a score so far from its middle."""
    if kind.focus == "none":
        return 0.0
    if abs(distance) > WINDOW:
        return -math.inf
    deviation = WINDOW / 2
    return 0.0 if kind.focus == "time" else -(distance**2) / (2 * deviation**2)
