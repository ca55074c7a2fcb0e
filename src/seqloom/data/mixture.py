"""Mix corpora in given proportions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mixture"]

GOLDEN_RATIO = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Mixture:
    """Concatenated corpora, and the number of rows that each contributes to a pass."""

    rows: tuple[int, ...]  # of each corpus
    shares: tuple[float, ...]

    @classmethod
    def of(cls, rows: Sequence[int], shares: Sequence[float]) -> Self | None:
        """Build from the corpora's sizes and shares; None if only one has rows with weight."""
        counted = [share if count else 0.0 for count, share in zip(rows, shares, strict=True)]
        if len([share for share in counted if share]) < 2 and 0 not in shares:
            return None
        return cls(tuple(rows), tuple(share / sum(counted) for share in counted))

    @property
    def frequencies(self) -> tuple[float, ...]:
        """How often a pass has a row of each corpus, on average."""
        each = zip(self.rows, self.shares, strict=True)
        return tuple(sum(self.rows) * share / max(1, rows) for rows, share in each)

    @property
    def row_frequencies(self) -> NDArray[np.float64]:
        """The same for each row."""
        return np.repeat(self.frequencies, self.rows)

    def draw(self, generator: np.random.Generator, epoch: int) -> NDArray[np.int32]:
        """Draw the rows of a pass, as many as all corpora have: each corpus contributes its share,
        and each of its rows equally often, up to one.

        Over passes, rounding evens out.
        """
        total, ends = sum(self.rows), np.cumsum([0.0, *self.shares])
        offset = (0.5 + epoch * GOLDEN_RATIO) % 1  # spreads evenly, whatever the shares
        bounds = np.floor(ends / ends[-1] * total + offset).astype(np.int64).clip(max=total)
        drawn, first = [], 0
        for rows, wanted in zip(self.rows, np.diff(bounds).tolist(), strict=True):
            own = np.arange(first, first + rows, dtype=np.int32)
            first += rows
            if wanted:
                often, more = divmod(wanted, rows)
                drawn += [*[own] * often, generator.permutation(own)[:more]]
        return np.concatenate(drawn)
