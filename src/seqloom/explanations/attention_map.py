"""The attention of a decoder to its source (S9).

The source runs across and the output down; each row sums to 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from seqloom.display import Displayed
from seqloom.errors import DataError
from seqloom.explanations.plain_values import round_values

__all__ = ["LEAST_WEIGHT", "AttentionMap", "Threads"]

ROUNDING = 0.01  # tolerance of the sum of half-precision weights
LEAST_WEIGHT = 0.04  # weights below this are not drawn as threads


@dataclass(frozen=True, eq=False)
class AttentionMap(Displayed):
    """The weights (T, S) of output tokens over source tokens."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64)
        shape = (len(self.target), len(self.source))
        if weights.shape != shape or 0 in shape:
            raise DataError(
                f"attention: weights of shape {weights.shape} for {shape[0]} output and "
                f"{shape[1]} source tokens",
                remedy="give one row for each output and one column for each source token",
            )
        if not np.isfinite(weights).all() or weights.min() < 0:
            raise DataError(
                "attention: a weight is negative or not finite", remedy="give probabilities"
            )
        off = np.abs(weights.sum(axis=1) - 1)
        if off.max() > ROUNDING:
            row = int(off.argmax()) + 1
            total = weights[row - 1].sum()
            raise DataError(
                f"attention: row {row} sums to {total:.3f}", remedy="give rows that sum to 1"
            )
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "weights": round_values(self.weights),
        }


@dataclass(frozen=True, eq=False)
class Threads(Displayed):
    """An attention map as threads between two sentences, one for each weight above a minimum."""

    attention: AttentionMap

    def heavy_weights(self) -> list[tuple[int, int]]:
        """Output and source position of each thread, output by output."""
        return [(t, s) for t, s in np.argwhere(self.attention.weights >= LEAST_WEIGHT).tolist()]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the map, and each thread from source to output position."""
        threads = [
            {"source": s, "target": t, "weight": float(self.attention.weights[t, s])}
            for t, s in self.heavy_weights()
        ]
        return {**self.attention.as_dict(), "threads": threads}
