"""Linear baselines for numeric sources: vectors, sequences of them, sounds, pictures (S8)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.baselines.labels import BASELINES, Baseline, TrainingRows
from seqloom.fields import Values

__all__ = ["RidgeMap"]

Matrix = NDArray[np.float64]
WIDEST = 4_096  # numbers per step; the square matrix takes 134 megabytes
GROUP = 256  # rows per batch
SMALLEST = 1e-12  # standard deviation below which a number is constant


@dataclass(frozen=True)
class RidgeMap:
    """Ridge regression on standardized features: the weights w with the least Σ (x·w − y)² + w²,
    where y are the centred targets.
    """

    middle: Matrix
    spread: Matrix
    weights: Matrix  # (F, K)
    mean: Matrix

    @classmethod
    def learn(cls, features: Matrix, targets: Matrix) -> "RidgeMap":
        """Fit features (N, F) to targets (N, K)."""
        middle, spread = features.mean(axis=0), features.std(axis=0)
        spread[spread < SMALLEST] = 1.0
        known, mean = (features - middle) / spread, targets.mean(axis=0)
        square = known.T @ known + np.eye(known.shape[1])
        return cls(middle, spread, np.linalg.solve(square, known.T @ (targets - mean)), mean)

    def __call__(self, features: Matrix) -> Matrix:
        """Predict the targets of these features."""
        scaled = (features - self.middle) / self.spread
        return np.asarray(scaled @ self.weights + self.mean, np.float64)


def _means(rows: Sequence[Values]) -> Matrix:
    """The mean over the steps of each row, as rows of a matrix."""
    return np.stack(
        [np.asarray(row, np.float64).reshape(len(row), -1).mean(axis=0) for row in rows]
    )


def _learnt_sources(known: TrainingRows) -> Iterator[Values]:
    for first in range(0, len(known.rows), GROUP):
        batch = known.rows.batch(np.arange(first, min(first + GROUP, len(known.rows))))
        yield from (
            row[:length] for row, length in zip(batch.source, batch.source_lengths, strict=True)
        )


def _fits(known: TrainingRows) -> bool:
    """Whether sources are numbers, and few enough."""
    return not known.countable and known.source.items.item_size <= WIDEST


def _estimates(known: TrainingRows, sources: Sequence[Values], targets: Matrix) -> Matrix:
    """(N, K): estimates for sources by the means of their steps, from those of training rows."""
    learnt = RidgeMap.learn(_means(list(_learnt_sources(known))), targets)
    return learnt(_means(sources))


@BASELINES.part("linear over numbers")
class LinearNumbers(Baseline):
    """Ridge regression on the numbers of a source, or on their mean over its steps."""

    target = "number"
    reads_items = True

    def outputs(self, known: TrainingRows, sources: Sequence[Values]) -> list[str] | None:
        """A cell for each source."""
        if not _fits(known):
            return None
        targets = np.asarray(known.rows.flat("target")[0], np.float64)
        return [known.target.cell(each[None]) for each in _estimates(known, sources, targets)]


@BASELINES.part("linear classifier over numbers")
class LinearNumberLabels(Baseline):
    """The label with the largest prediction by ridge regression on each label's indicator."""

    target = "label"
    reads_items = True

    def outputs(self, known: TrainingRows, sources: Sequence[Values]) -> list[str] | None:
        """A cell for each source."""
        if not _fits(known):
            return None
        labels = np.asarray(known.rows.flat("target")[0], np.int64)
        kinds = np.arange(known.target.items.count)
        scores = _estimates(known, sources, np.equal.outer(labels, kinds).astype(np.float64))
        scores[:, np.bincount(labels, minlength=len(kinds)) == 0] = -np.inf
        return [known.target.cell([label]) for label in scores.argmax(axis=1).tolist()]
