"""The share of outputs that equal their references."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.score import Score, check_rows, score_rows

__all__ = ["accuracy", "accuracy_from_counts"]


def accuracy(
    outputs: Sequence[object],
    references: Sequence[object],
    *,
    seed: int | None = 1,
) -> Score:
    """Per cent of the outputs that are equal to their references; no interval without a seed."""
    check_rows(outputs, references)
    equal = [output == reference for output, reference in zip(outputs, references, strict=True)]
    rows = len(equal)

    def measure(hits: NDArray[np.float64]) -> float:
        return 100 * float(hits[0]) / rows

    value, low, high = score_rows(np.array(equal, np.float64)[:, None], measure, seed=seed)
    return Score("accuracy", value, low, high, signature=f"rows:{rows}")


def accuracy_from_counts(rows: NDArray[np.float64], *, what: str, seed: int | None = 1) -> Score:
    """Per cent of what was asked for that is right, from (right, asked) of each row."""
    value, low, high = score_rows(rows, lambda sums: 100 * float(sums[0] / sums[1]), seed=seed)
    signature = f"rows:{len(rows)}|{what}:{int(rows[:, 1].sum())}"
    return Score("accuracy", value, low, high, signature)
