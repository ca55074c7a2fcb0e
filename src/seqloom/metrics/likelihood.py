"""How surprised a model is by the references."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.errors import DataError
from seqloom.metrics.score import Score, check_rows, score_rows

__all__ = ["perplexity"]


def perplexity(
    log_probabilities: Sequence[float] | NDArray[np.floating],
    token_counts: Sequence[int] | NDArray[np.integer],
    *,
    seed: int = 1,
) -> Score:
    """`exp(-mean log-probability of a token)`, from natural logarithms summed over each row."""
    check_rows(log_probabilities, token_counts)
    rows = np.stack([_column(log_probabilities), _column(token_counts)], axis=1)
    wrong = ~np.isfinite(rows).all(axis=1) | (rows[:, 0] > 0) | (rows[:, 1] < 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"row {row + 1}: log-probability {rows[row, 0]:g} of {rows[row, 1]:g} tokens has no "
            "perplexity; give a finite number not above 0 and at least one token"
        )
    value, low, high = score_rows(rows, _measure, seed=seed)
    signature = f"rows:{len(rows)}|tokens:{int(rows[:, 1].sum())}"
    return Score("perplexity", value, low, high, signature, digits=2)


def _column(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)


def _measure(sums: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(-sums[0] / sums[1]))
