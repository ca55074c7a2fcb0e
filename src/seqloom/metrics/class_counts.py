"""True positives, predictions and references of each class, counted by row in a compact form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.metric import Counts

__all__ = ["ClassCounts"]

NO_CLASS = -1  # a predicted class that no reference has

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class _Tally:
    """Occurrences of each class in each row, stored sparsely."""

    rows: Indices
    classes: Indices
    times: Counts
    size: int  # number of classes

    @classmethod
    def of(cls, rows: Indices, classes: Indices, size: int) -> Self:
        """Count the classes of each row, with repetitions."""
        pairs, times = np.unique(rows * size + classes, return_counts=True)
        return cls(pairs // size, pairs % size, times, size)

    def sums(self, counts: Counts) -> NDArray[np.float64]:
        """Sum the occurrences of each class over rows with these weights."""
        weights = counts[self.rows] * self.times
        return np.asarray(np.bincount(self.classes, weights, minlength=self.size), np.float64)


@dataclass(frozen=True)
class ClassCounts:
    """Counts for each class of the references: true positives, predictions, references.

    Its memory grows with the number of labels and of classes, not with their product.
    """

    names: tuple[str, ...]
    right: _Tally
    predicted: _Tally
    expected: _Tally

    @classmethod
    def of(cls, rows: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Self:
        """Count the classes of (outputs, references) of each row."""
        names = sorted({label for _, row in rows for label in row})
        index = {name: number for number, name in enumerate(names)}
        places = np.repeat(np.arange(len(rows)), [len(row) for _, row in rows])
        output = _label_ids((row for row, _ in rows), index)
        reference = _label_ids((row for _, row in rows), index)
        hit, known, size = output == reference, output != NO_CLASS, len(names)
        return cls(
            tuple(names),
            _Tally.of(places[hit], reference[hit], size),
            _Tally.of(places[known], output[known], size),
            _Tally.of(places, reference, size),
        )

    def f1(self, counts: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """F1 and support of each class that occurs in the rows with these weights."""
        support = self.expected.sums(counts)
        asked = self.predicted.sums(counts) + support
        there = asked > 0
        return 2 * self.right.sums(counts)[there] / asked[there], support[there]


def _label_ids(column: Iterable[Sequence[str]], index: Mapping[str, int]) -> Indices:
    """The index of each label's class, row after row."""
    return np.array([index.get(label, NO_CLASS) for row in column for label in row], np.int64)
