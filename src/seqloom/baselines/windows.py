"""Ridge regression on concatenated one-hot vectors: of the tokens around each position, or of the
first tokens of a text (S8).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["ConcatenatedWindows", "beginnings", "windows_around"]

OUTSIDE = 0  # in place of a token beyond the row, like padding
STEPS = 100  # solver iterations at most
ACCURACY = 1e-6  # share of the squared residual at which the solver stops
TINY = np.finfo(np.float32).tiny

Ids = NDArray[np.int64]
Values = NDArray[np.float32]


def windows_around(rows: Sequence[Ids], reach: int) -> Ids:
    """The window of each token, from `reach` before it to `reach` after it: (N, C)."""
    outside = np.full(reach, OUTSIDE, np.int64)
    found = [
        np.lib.stride_tricks.sliding_window_view(
            np.concatenate([outside, row, outside]), 2 * reach + 1
        )
        for row in rows
        if len(row)
    ]
    return np.concatenate(found) if found else np.zeros((0, 2 * reach + 1), np.int64)


def beginnings(rows: Sequence[Ids], count: int) -> Ids:
    """The first `count` tokens of each row: (N, C)."""
    found = np.full((len(rows), count), OUTSIDE, np.int64)
    for number, row in enumerate(rows):
        found[number, : len(row[:count])] = row[:count]
    return found


@dataclass(frozen=True)
class ConcatenatedWindows:
    """A matrix with a row for each window: the one-hot vectors of its tokens, then 1."""

    tokens: Ids  # (N, C)
    vocabulary: int

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.tokens.shape[1]) * self.vocabulary + 1

    @cached_property
    def _columns(self) -> list[tuple[Ids, Ids, Ids]]:
        """For each place of a window: the order of its tokens, where each one begins, and its
        column.
        """
        found = []
        for place, tokens in enumerate(self.tokens.T):
            order = np.argsort(tokens, kind="stable")
            kinds, starts = np.unique(tokens[order], return_index=True)
            found.append((order, starts, kinds + place * self.vocabulary))
        return found

    def multiply(self, weights: Values) -> Values:
        """Multiply the matrix by another (F, K)."""
        product: Values = np.repeat(weights[-1:], len(self.tokens), axis=0)
        for place, tokens in enumerate(self.tokens.T):
            product += weights[tokens + place * self.vocabulary]
        return product

    def multiply_transposed(self, values: Values) -> Values:
        """Multiply the transposed matrix by another (N, K)."""
        product = np.zeros((self.width, values.shape[1]), np.float32)
        for order, starts, columns in self._columns:
            product[columns] = np.add.reduceat(values[order], starts, axis=0)
        product[-1] = values.sum(axis=0)
        return product

    def solve_ridge(self, targets: Values) -> Values:
        """The weights w (F, K) with the least Σ (x·w − y)² + w² for each of K columns of targets,
        by conjugate gradients with feature counts as preconditioner.
        """
        ones = np.ones((len(self.tokens), 1), np.float32)
        scale: Values = np.float32(1) / (1 + self.multiply_transposed(ones))
        weights = np.zeros((self.width, targets.shape[1]), np.float32)
        left = self.multiply_transposed(targets)
        way = scale * left
        size = (left * way).sum(axis=0)
        enough = ACCURACY * size
        for _ in range(STEPS):
            if bool((size <= enough).all()):
                break
            image = self.multiply_transposed(self.multiply(way)) + way
            step = size / np.maximum((way * image).sum(axis=0), TINY)
            weights, left = weights + step * way, left - step * image
            scaled = scale * left
            before, size = size, (left * scaled).sum(axis=0)
            way = scaled + size / np.maximum(before, TINY) * way
        return weights
