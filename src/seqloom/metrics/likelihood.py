"""Metrics of a model's likelihood of the references."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.metrics.metric import METRICS, Direction, Score, SumMetric, check_rows

__all__ = [
    "BitsPerCharacter",
    "Likelihoods",
    "NatsPerCharacter",
    "Perplexity",
    "bits_per_character",
    "nats_per_character",
    "perplexity",
]

Column = Sequence[float] | NDArray[np.floating]
Whole = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True)
class Likelihoods:
    """Natural log-probabilities of rows, and their numbers of tokens or characters, (rows, 2);
    DataError if a row is invalid.
    """

    rows: NDArray[np.float64]
    unit: str  # "tokens" or "characters"
    kind: str = "language"

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, log_probabilities: Column, counts: Whole, unit: str) -> "Likelihoods":
        """Combine both columns."""
        check_rows(log_probabilities, counts)
        columns = [np.asarray(each, np.float64) for each in (log_probabilities, counts)]
        rows = np.stack(columns, axis=1)
        wrong = ~np.isfinite(rows).all(axis=1) | (rows[:, 0] > 0) | (rows[:, 1] < 1)
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"row {row + 1}: log-probability {rows[row, 0]:g} of {rows[row, 1]:g} {unit} has "
                "no perplexity",
                remedy=f"give a finite number not above 0 and at least one {unit.rstrip('s')}",
            )
        return cls(rows, unit)


class _Surprise(SumMetric[Likelihoods]):
    """Base of metrics of summed log-probabilities and counts."""

    direction = Direction.LOWER
    targets = ("language",)
    unit: ClassVar[str] = "characters"
    digits = 3

    def fits(self, data: Likelihoods) -> bool:
        """Whether the counts are in this metric's unit."""
        return data.unit == self.unit

    def signature(self, data: Likelihoods) -> str:
        """The numbers of rows and units."""
        return f"rows:{len(data)}|{data.unit}:{int(data.rows[:, 1].sum())}"

    def statistics(self, data: Likelihoods) -> NDArray[np.float64]:
        """Log-probability and count of each row."""
        return data.rows


@METRICS.part("perplexity")
class Perplexity(_Surprise):
    """`exp(-mean log-probability of a token)`."""

    name = "perplexity"
    unit = "tokens"
    order = 30
    digits = 2

    def combine(self, sums: NDArray[np.float64]) -> float:
        """Infinite if it overflows."""
        with np.errstate(over="ignore"):
            return float(np.exp(-sums[0] / sums[1]))


@METRICS.part("bits per character")
class BitsPerCharacter(_Surprise):
    """Bits per character: the mean negative log-probability of a character, to base 2."""

    name = "bits per character"
    order = 31

    def combine(self, sums: NDArray[np.float64]) -> float:
        """The mean to base 2."""
        return float(-sums[0] / sums[1]) / math.log(2)


@METRICS.part("nats per character")
class NatsPerCharacter(_Surprise):
    """Nats per character: the mean negative natural log-probability of a character."""

    name = "nats per character"
    order = 32

    def combine(self, sums: NDArray[np.float64]) -> float:
        """The mean."""
        return float(-sums[0] / sums[1])


def perplexity(log_probabilities: Column, token_counts: Whole, *, seed: int | None = 1) -> Score:
    """Perplexity per token, from natural logarithms summed over each row."""
    return Perplexity().score(Likelihoods.of(log_probabilities, token_counts, "tokens"), seed=seed)


def bits_per_character(
    log_probabilities: Column, characters: Whole, *, seed: int | None = 1
) -> Score:
    """Bits per character, from natural logarithms summed over each row."""
    rows = Likelihoods.of(log_probabilities, characters, "characters")
    return BitsPerCharacter().score(rows, seed=seed)


def nats_per_character(
    log_probabilities: Column, characters: Whole, *, seed: int | None = 1
) -> Score:
    """Nats per character, from natural logarithms summed over each row."""
    rows = Likelihoods.of(log_probabilities, characters, "characters")
    return NatsPerCharacter().score(rows, seed=seed)
