"""Batches of rows within a budget of positions, grouped by length where length decides the cost.

The global batch is a function of (seed, step) alone, so a resumed run sees what an uninterrupted
one would have seen, and a rank finds its share without asking others (RELIABILITY, randomness).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import ConfigError
from seqloom.randomness import key

__all__ = ["Batches", "Indices", "Lengths", "batches_by_length", "even_indices", "padding_share"]

Indices = NDArray[np.int64]

STRETCH = 1 << 20  # rows that are sorted by length at a time
BLUR = 0.75  # tokens; more gives neighbours more variety and batches more padding


class Lengths(NamedTuple):
    """Tokens of each row, END included, in the order of the corpus."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]

    @property
    def longer(self) -> NDArray[np.int32]:
        """The longer side of each row, which counts against the budget."""
        return np.maximum(self.source, self.target)


class Batches:
    """An endless, numbered series of batches; each epoch holds every row exactly once.

    A batch of n rows keeps n × longest source and n × longest target within `tokens`, unless one
    row alone is longer than that, and n within `rows`, if there is such a limit.
    """

    def __init__(self, lengths: Lengths, *, tokens: int, rows: int = 0, seed: int) -> None:
        if not len(lengths.source):
            raise ConfigError("there are no rows to make batches of", remedy="give at least one")
        self._lengths = lengths
        self._limits = tokens, rows or len(lengths.source)
        self._seed = seed
        self._first_steps = [0]
        self._epoch = -1
        self._batches: list[Indices] = []

    def indices(self, step: int) -> Indices:
        """The rows of global batch number `step`, counted from 0, sorted by length."""
        epoch = self.epoch(step)
        rows = self._of_epoch(epoch)[step - self._first_steps[epoch]]
        longer = np.maximum(self._lengths.source[rows], self._lengths.target[rows])
        return np.asarray(rows[np.argsort(longer, kind="stable")], np.int64)

    def share(self, step: int, *, rank: int, world: int) -> Indices:
        """Every `world`-th row of the batch from row `rank` on; empty where rows are too few."""
        return self.indices(step)[rank::world]

    def epoch(self, step: int) -> int:
        """The pass over the data, counted from 0, that batch `step` belongs to."""
        while self._first_steps[-1] <= step:
            self._of_epoch(len(self._first_steps) - 1)
        return int(np.searchsorted(self._first_steps, step, side="right")) - 1

    def per_epoch(self, epoch: int) -> int:
        """How many batches that pass has; jitter makes it differ a little from pass to pass."""
        return len(self._of_epoch(epoch))

    def padding(self, epoch: int) -> float:
        """Share of that pass's positions, both sides together, that hold `<empty>`."""
        return padding_share(self._of_epoch(epoch), self._lengths)

    def _of_epoch(self, epoch: int) -> list[Indices]:
        """The batches of a pass; only the latest pass is cached."""
        if epoch != self._epoch:
            generator = np.random.default_rng(key(self._seed, "epoch", epoch))
            batches = self._cut(generator)
            self._batches = [batches[index] for index in generator.permutation(len(batches))]
            self._epoch = epoch
            if epoch == len(self._first_steps) - 1:
                self._first_steps.append(self._first_steps[-1] + len(batches))
        return self._batches

    def _cut(self, generator: np.random.Generator) -> list[Indices]:
        """All batches; of very many rows, those of one random stretch after the other."""
        rows = len(self._lengths.source)
        if rows <= STRETCH:
            return _cut_batches(self._order(generator), self._lengths, *self._limits)
        shuffled = generator.permutation(np.arange(rows, dtype=np.int32))
        batches = []
        for start in range(0, rows, STRETCH):
            part = shuffled[start : start + STRETCH]
            lengths = Lengths(self._lengths.source[part], self._lengths.target[part])
            order = _jitter_order(lengths, generator)
            batches += [part[each] for each in _cut_batches(order, lengths, *self._limits)]
        return batches

    def _order(self, generator: np.random.Generator) -> Indices:
        """The rows of a pass, those of like length together; anyhow where all sources are equally
        long, such as pictures, and every batch has room for so many rows: the lengths of texts
        would sort pictures by what they show, and save little."""
        source, (tokens, rows) = self._lengths.source, self._limits
        if (source == source[0]).all() and rows * int(self._lengths.longer.max()) <= tokens:
            return generator.permutation(len(source))
        return _jitter_order(self._lengths, generator)


def batches_by_length(lengths: Lengths, *, tokens: int) -> list[Indices]:
    """Batches by length with every row once, the same each time: for held-out data."""
    order = _snake(lengths.target, lengths.source)
    return _cut_batches(order, lengths, tokens, len(order))


def even_indices(count: int, most: int) -> Indices:
    """So many of `count` rows from the first to the last, evenly; all where there are no more."""
    return np.linspace(0, count - 1, min(most, count)).astype(np.int64)


def padding_share(batches: Iterable[Indices], lengths: Lengths) -> float:
    """Share of the positions of both sides of these batches that hold no token."""
    used = total = 0
    for rows in batches:
        for side in lengths:
            used += int(side[rows].sum())
            total += len(rows) * int(side[rows].max())
    return 1 - used / total if total else 0.0


def _jitter_order(lengths: Lengths, generator: np.random.Generator) -> Indices:
    """Rows by length with other neighbours in each pass: now one side leads and now the other,
    equal rows are shuffled, and the side that follows is blurred by less than a token."""
    rows = len(lengths.source)
    shuffled = generator.permutation(rows)
    leading, following = generator.permutation(2)
    blurred = lengths[following][shuffled] + generator.uniform(-BLUR, BLUR, rows)
    return np.asarray(shuffled[_snake(lengths[leading][shuffled], blurred)], dtype=np.int64)


def _snake(primary: NDArray[np.number], secondary: NDArray[np.number]) -> Indices:
    """Order by the first key; within it the second goes up and down in turn, so that a batch across
    two values of the first still has neighbours in the second."""
    _, group = np.unique(primary, return_inverse=True)
    return np.lexsort((np.where(group % 2 == 0, secondary, -secondary), group))


def _cut_batches(order: Indices, lengths: Lengths, tokens: int, rows: int) -> list[Indices]:
    """Cut an order into the longest stretches that keep the budget of tokens and of rows."""
    longer = lengths.longer[order].astype(np.int64)
    batches = []
    start = 0
    while start < len(order):
        most = max(1, min(rows, tokens // int(longer[start])))
        longest = np.maximum.accumulate(longer[start : start + most])
        fitting = longest * np.arange(1, len(longest) + 1) <= tokens
        end = start + max(1, int(np.count_nonzero(fitting)))
        batches.append(order[start:end])
        start = end
    return batches
