"""Bigram counts: the baseline of a model that fills blanks (S8)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from seqloom.fields import END

__all__ = ["Bigrams"]

Ids = NDArray[np.int64]
Values = NDArray[np.float64]
PAIR_WEIGHT = 0.75  # interpolation weight of bigrams; the rest is of unigrams


@dataclass(frozen=True)
class _Pairs:
    """Counts of the neighbours of each token on one side, sorted by token."""

    starts: Ids  # of each token's neighbours, and the end of the last
    others: Ids
    counts: Values

    @classmethod
    def of(cls, tokens: Ids, others: Ids, vocabulary: int) -> Self:
        """Count the pairs of tokens and their neighbours."""
        keys, counts = np.unique(tokens * vocabulary + others, return_counts=True)
        starts = np.searchsorted(keys, np.arange(vocabulary + 1) * vocabulary)
        return cls(starts, keys % vocabulary, counts.astype(np.float64))

    def neighbours(self, token: int) -> tuple[Ids, Values]:
        """The neighbours of a token, with their counts."""
        stretch = slice(self.starts[token], self.starts[token + 1])
        return self.others[stretch], self.counts[stretch]


@dataclass(frozen=True)
class Bigrams:
    """Predicts the token w with the largest P(w | left) · P(right | w), each interpolated with
    weight 0.75 of the bigram and 0.25 of the unigram; a row begins and ends in `<end>`.
    """

    after: _Pairs  # right neighbours of each token
    before: _Pairs
    shares: Values  # unigram probabilities
    counts: Values
    fillable: NDArray[np.bool_]

    @classmethod
    def learn(cls, tokens: NDArray[np.integer], fillable: NDArray[np.bool_]) -> Self:
        """Count a text whose rows have `<end>`; only fillable tokens are ever predicted."""
        text = np.concatenate([[END], np.asarray(tokens, np.int64)])
        left, right, size = text[:-1], text[1:], len(fillable)
        counts = np.bincount(right, minlength=size).astype(np.float64)
        pairs = _Pairs.of(left, right, size), _Pairs.of(right, left, size)
        return cls(*pairs, counts / counts.sum(), counts, fillable)

    def guesses(self, tokens: Ids, positions: Ids) -> Ids:
        """The most probable token at each of these positions, given its two neighbours."""
        closed = np.concatenate([[END], tokens, [END]])
        found = [self._guess(int(closed[p]), int(closed[p + 2])) for p in positions]
        return np.array(found, np.int64)

    def _guess(self, left: int, right: int) -> int:
        likely = (1 - PAIR_WEIGHT) * self.shares
        others, counts = self.after.neighbours(left)
        likely[others] += PAIR_WEIGHT * counts / max(1.0, counts.sum())
        onward = np.full(len(likely), (1 - PAIR_WEIGHT) * self.shares[right])
        others, counts = self.before.neighbours(right)
        onward[others] += PAIR_WEIGHT * counts / self.counts[others]
        return int(np.where(self.fillable, likely * onward, -1.0).argmax())
