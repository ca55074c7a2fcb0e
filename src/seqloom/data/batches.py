"""Batches of rows within a token budget, grouped by length if length determines the cost.

The global batch is a function of (seed, step) alone, so a resumed run has the same batches as an
uninterrupted one, and a rank computes its share without communication (RELIABILITY, randomness).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.data.mixture import Mixture
from seqloom.errors import ConfigError
from seqloom.randomness import key

__all__ = ["Batches", "Indices", "Lengths", "batches_by_length", "even_indices", "padding_share"]

Indices = NDArray[np.int64]

STRETCH = 1 << 20  # rows sorted by length at a time
BLUR = 0.75  # noise in tokens; more noise varies batches more, at the cost of padding


class Lengths(NamedTuple):
    """Tokens of each row, END included, in the order of the corpus."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]

    @property
    def longer(self) -> NDArray[np.int32]:
        """The longer side of each row, which counts against the token budget."""
        return np.maximum(self.source, self.target)


class Batches:
    """An infinite, numbered series of batches; each epoch has every row exactly once, or draws as
    many rows from several corpora as the mixture says.

    A batch of n rows keeps n × longest source and n × longest target within `tokens`, unless one
    row alone is longer than that, and n within `rows`, if there is such a limit.
    """

    def __init__(
        self,
        lengths: Lengths,
        *,
        tokens: int,
        rows: int = 0,
        seed: int,
        mixture: Mixture | None = None,
    ) -> None:
        if not len(lengths.source):
            raise ConfigError("there are no rows to make batches of", remedy="give at least one")
        self._lengths = lengths
        self._limits = tokens, rows or len(lengths.source)
        self._seed = seed
        self._mixture = mixture
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
        """Every `world`-th row of the batch from row `rank` on; empty if there are too few rows."""
        return self.indices(step)[rank::world]

    def epoch(self, step: int) -> int:
        """The pass over the data, counted from 0, that batch `step` belongs to."""
        while self._first_steps[-1] <= step:
            self._of_epoch(len(self._first_steps) - 1)
        return int(np.searchsorted(self._first_steps, step, side="right")) - 1

    def per_epoch(self, epoch: int) -> int:
        """The number of batches in a pass; jitter makes it vary a little between passes."""
        return len(self._of_epoch(epoch))

    def padding(self, epoch: int) -> float:
        """The share of a pass's positions on both sides that are padding."""
        return padding_share(self._of_epoch(epoch), self._lengths)

    def _of_epoch(self, epoch: int) -> list[Indices]:
        """The batches of a pass; only the latest pass is cached."""
        if epoch != self._epoch:
            generator = np.random.default_rng(key(self._seed, "epoch", epoch))
            batches = self._cut(generator, epoch)
            self._batches = [batches[index] for index in generator.permutation(len(batches))]
            self._epoch = epoch
            if epoch == len(self._first_steps) - 1:
                self._first_steps.append(self._first_steps[-1] + len(batches))
        return self._batches

    def _cut(self, generator: np.random.Generator, epoch: int) -> list[Indices]:
        """All batches of a pass; very many rows are sorted in random chunks."""
        rows = len(self._lengths.source)
        if rows <= STRETCH and self._mixture is None:
            order = self._order(self._lengths, generator)
            return _cut_batches(order, self._lengths, *self._limits)
        every = np.arange(rows, dtype=np.int32)
        drawn = every if self._mixture is None else self._mixture.draw(generator, epoch)
        shuffled = generator.permutation(drawn)
        batches = []
        for start in range(0, len(shuffled), STRETCH):
            part = shuffled[start : start + STRETCH]
            lengths = Lengths(self._lengths.source[part], self._lengths.target[part])
            order = self._order(lengths, generator)
            batches += [part[each] for each in _cut_batches(order, lengths, *self._limits)]
        return batches

    def _order(self, lengths: Lengths, generator: np.random.Generator) -> Indices:
        """The order of rows in a pass, grouped by length; shuffled if all sources are equally long,
        such as pictures, and each batch has room for all its rows: sorting by target length would
        group pictures by content and save little.
        """
        source, (tokens, rows) = lengths.source, self._limits
        if (source == source[0]).all() and rows * int(lengths.longer.max()) <= tokens:
            return generator.permutation(len(source))
        return _jitter_order(lengths, generator)


def batches_by_length(lengths: Lengths, *, tokens: int) -> list[Indices]:
    """Deterministic batches by length with every row once, for validation data."""
    order = _snake(lengths.target, lengths.source)
    return _cut_batches(order, lengths, tokens, len(order))


def even_indices(count: int, most: int) -> Indices:
    """Indices of at most `most` of `count` rows, evenly spaced."""
    return np.linspace(0, count - 1, min(most, count)).astype(np.int64)


def padding_share(batches: Iterable[Indices], lengths: Lengths) -> float:
    """The share of positions on both sides of these batches that are padding."""
    used = total = 0
    for rows in batches:
        for side in lengths:
            used += int(side[rows].sum())
            total += len(rows) * int(side[rows].max())
    return 1 - used / total if total else 0.0


def _jitter_order(lengths: Lengths, generator: np.random.Generator) -> Indices:
    """Rows by length with different neighbours in each pass: the leading side alternates, equal
    rows are shuffled, and the other side is blurred by less than a token.
    """
    rows = len(lengths.source)
    shuffled = generator.permutation(rows)
    leading, following = generator.permutation(2)
    blurred = lengths[following][shuffled] + generator.uniform(-BLUR, BLUR, rows)
    return np.asarray(shuffled[_snake(lengths[leading][shuffled], blurred)], dtype=np.int64)


def _snake(primary: NDArray[np.number], secondary: NDArray[np.number]) -> Indices:
    """Sort by the first key, with the second ascending and descending in turn, so that a batch
    across two values of the first has similar values of the second.
    """
    _, group = np.unique(primary, return_inverse=True)
    return np.lexsort((np.where(group % 2 == 0, secondary, -secondary), group))


def _cut_batches(order: Indices, lengths: Lengths, tokens: int, rows: int) -> list[Indices]:
    """Split an order into the longest runs within the budget of tokens and of rows."""
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
