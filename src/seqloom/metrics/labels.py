"""Labels against labels: accuracy and F1, for whole rows and for tags (S8)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.fields.tokenizers import split_symbols
from seqloom.metrics.match import accuracy, accuracy_from_counts
from seqloom.metrics.score import Counts, Score, check_rows, interval

__all__ = ["label_scores", "tag_scores"]

NO_KIND = -1  # of what was given and is nowhere wanted

Indices = NDArray[np.int64]


def label_scores(
    outputs: Sequence[str], references: Sequence[str], *, seed: int | None = 1
) -> list[Score]:
    """Accuracy and macro F1 in per cent, on the same resamples."""
    outputs, references = [each.strip() for each in outputs], [each.strip() for each in references]
    pairs = [([output], [label]) for output, label in zip(outputs, references, strict=False)]
    return [accuracy(outputs, references, seed=seed), _macro_f1(pairs, seed=seed)]


def tag_scores(
    outputs: Sequence[str], references: Sequence[str], *, seed: int | None = 1
) -> list[Score]:
    """Accuracy over all tags, macro F1 over kinds of tags, and rows that are right throughout.

    Tags stand between spaces, as their field cuts them; other white space is part of one.
    """
    check_rows(outputs, references)
    pairs = [
        (split_symbols(output), split_symbols(reference))
        for output, reference in zip(outputs, references, strict=True)
    ]
    for number, (found, wanted) in enumerate(pairs, 1):
        if len(found) != len(wanted):
            raise DataError(
                f"row {number}: {len(found)} tags cannot be compared with {len(wanted)}; give "
                "each token one tag"
            )
    rows = np.array([(sum(map(str.__eq__, *pair)), len(pair[1])) for pair in pairs], np.float64)
    whole = accuracy([o for o, _ in pairs], [r for _, r in pairs], seed=seed)
    return [
        accuracy_from_counts(rows, what="tags", seed=seed),
        _macro_f1(pairs, seed=seed),
        replace(whole, name="whole rows"),
    ]


@dataclass(frozen=True)
class _Tally:
    """How many times each row has each kind, where it has any."""

    rows: Indices
    kinds: Indices
    times: Counts
    size: int  # kinds there are

    @classmethod
    def of(cls, rows: Indices, kinds: Indices, size: int) -> Self:
        """Of the kinds that these rows have, once for each time."""
        pairs, times = np.unique(rows * size + kinds, return_counts=True)
        return cls(pairs // size, pairs % size, times, size)

    def sums(self, counts: Counts) -> NDArray[np.float64]:
        """How many times each kind comes in rows that count so often."""
        weights = counts[self.rows] * self.times
        return np.asarray(np.bincount(self.kinds, weights, minlength=self.size), np.float64)


def _macro_f1(pairs: Sequence[tuple[list[str], list[str]]], *, seed: int | None) -> Score:
    """The mean over the references' kinds of 2 × right / (given + wanted), in per cent.

    Its memory grows with the number of labels and of kinds, not with their product.
    """
    kinds = {kind: n for n, kind in enumerate(sorted({k for _, row in pairs for k in row}))}
    rows = np.repeat(np.arange(len(pairs)), [len(wanted) for _, wanted in pairs])
    given = _label_ids((row for row, _ in pairs), kinds)
    wanted = _label_ids((row for _, row in pairs), kinds)
    hit, known = given == wanted, given != NO_KIND
    right = _Tally.of(rows[hit], wanted[hit], len(kinds))
    both = np.append(rows, rows[known]), np.append(wanted, given[known])
    asked = _Tally.of(*both, len(kinds))

    def measure(counts: Counts) -> float:
        due = asked.sums(counts)
        there = due > 0
        return 100 * float(np.mean(2 * right.sums(counts)[there] / due[there]))

    value = measure(np.ones(len(pairs), np.int64))
    ends = interval(value, measure, rows=len(pairs), seed=seed)
    return Score("macro F1", value, *ends, f"kinds:{len(kinds)}")


def _label_ids(column: Iterable[list[str]], kinds: Mapping[str, int]) -> Indices:
    """The number of each label's kind, one row after another."""
    return np.array([kinds.get(label, NO_KIND) for row in column for label in row], np.int64)
