"""How surprised a model is by the references."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.errors import DataError
from seqloom.metrics.score import Score, check_rows, score_rows

__all__ = ["bits_per_character", "nats_per_character", "perplexity"]


def perplexity(
    log_probabilities: Sequence[float] | NDArray[np.floating],
    token_counts: Sequence[int] | NDArray[np.integer],
    *,
    seed: int = 1,
) -> Score:
    """`exp(-mean log-probability of a token)`, from natural logarithms summed over each row."""
    rows = _rows(log_probabilities, token_counts, "tokens")
    value, low, high = score_rows(rows, _measure, seed=seed)
    signature = f"rows:{len(rows)}|tokens:{int(rows[:, 1].sum())}"
    return Score("perplexity", value, low, high, signature, digits=2)


def bits_per_character(
    log_probabilities: Sequence[float] | NDArray[np.floating],
    characters: Sequence[int] | NDArray[np.integer],
    *,
    seed: int = 1,
) -> Score:
    """The bits it takes to tell a text to someone who has the model, for each character."""
    return _per_character("bits per character", math.log(2), (log_probabilities, characters), seed)


def nats_per_character(
    log_probabilities: Sequence[float] | NDArray[np.floating],
    characters: Sequence[int] | NDArray[np.integer],
    *,
    seed: int = 1,
) -> Score:
    """The same in natural logarithms: the loss of a model of characters."""
    return _per_character("nats per character", 1.0, (log_probabilities, characters), seed)


def _per_character(name: str, unit: float, columns: tuple[Any, Any], seed: int) -> Score:
    rows = _rows(*columns, "characters")
    rows[:, 0] /= unit
    value, low, high = score_rows(rows, lambda sums: float(-sums[0] / sums[1]), seed=seed)
    signature = f"rows:{len(rows)}|characters:{int(rows[:, 1].sum())}"
    return Score(name, value, low, high, signature, digits=3)


def _rows(log_probabilities: Any, counts: Any, what: str) -> NDArray[np.float64]:
    """Both columns side by side; DataError where a row of them makes no sense."""
    check_rows(log_probabilities, counts)
    rows = np.stack([_column(log_probabilities), _column(counts)], axis=1)
    wrong = ~np.isfinite(rows).all(axis=1) | (rows[:, 0] > 0) | (rows[:, 1] < 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"row {row + 1}: log-probability {rows[row, 0]:g} of {rows[row, 1]:g} {what} has no "
            f"perplexity; give a finite number not above 0 and at least one {what.rstrip('s')}"
        )
    return rows


def _column(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)


def _measure(sums: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(-sums[0] / sums[1]))
