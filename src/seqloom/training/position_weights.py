"""Weights of target positions in the loss (S6.1, S6.4).

Losses are summed over positions and divided by the tokens of the batch. Every other average is that
sum with a factor for each position.
"""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from seqloom.randomness import key

__all__ = ["LossKind", "PositionWeights"]

LossKind = Literal["tokens", "mean", "sum"]


class PositionWeights:
    """Factors for the positions of a batch, from rows' lengths, their weights, and the seed.

    Weights are relative to their mean over all rows: their scale does not matter, and an update on
    rows of small weight is a small one.
    """

    def __init__(
        self,
        lengths: NDArray[np.integer],
        weights: NDArray[np.float64],
        *,
        loss: LossKind = "tokens",
        one_position: bool = False,
        seed: int = 0,
    ) -> None:
        """Lengths in tokens, `<end>` included, and weights of all rows there are."""
        self._lengths = lengths
        self._loss = loss
        self._one_position = one_position
        self._seed = seed
        mean = float(np.average(weights, weights=lengths if loss == "tokens" else None))
        self._weights = np.asarray(weights, np.float64) / mean
        self._plain = loss == "tokens" and not one_position and bool((weights == weights[0]).all())

    def factors(
        self, step: int, batches: list[NDArray[np.int64]]
    ) -> list[Float[Tensor, "B T"] | None]:
        """For each batch of rows that make update `step` together; None where each counts 1."""
        if self._plain:
            return [None] * len(batches)
        rows = sum(map(len, batches))
        tokens_per_row = sum(int(self._lengths[batch].sum()) for batch in batches) / rows
        return [
            torch.from_numpy(
                self._matrix(batch, tokens_per_row, key(self._seed, "position", step, number))
            )
            for number, batch in enumerate(batches)
        ]

    def _matrix(
        self, rows: NDArray[np.int64], tokens_per_row: float, seed: int
    ) -> NDArray[np.float64]:
        lengths = self._lengths[rows].astype(np.int64)
        each = self._weights[rows]
        if self._loss != "tokens":
            each = each * tokens_per_row / (lengths if self._loss == "mean" else 1)
        matrix = np.zeros((len(rows), lengths.max(initial=0)))
        if not self._one_position:
            matrix += each[:, None]
            return matrix
        drawn = np.random.default_rng(seed).integers(lengths)
        matrix[np.arange(len(rows)), drawn] = each * lengths
        return matrix
