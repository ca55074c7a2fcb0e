"""Vocabulary shortlists: which target symbols a source can need, learnt from training pairs.

Translation probabilities come from IBM model 1 (Brown et al. 1993), a few rounds of expectation
maximization over all links of a source symbol and a target symbol of the same pair. A sentence may
then use the likeliest translations of its symbols, and the most frequent symbols of all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seqloom.engine.loop import WordLists
from seqloom.errors import RunError
from seqloom.remedies import Command, Remedy

__all__ = ["Missed", "Pair", "Shortlist", "translation_probabilities"]

LINKS = 4_000_000  # of source and target positions that are held at once
SAMPLE = 256  # absent symbols from which the probability of all absent ones is estimated
SPECIAL = 4  # symbols that every vocabulary begins with and every sentence may need

Pair = tuple[np.ndarray, np.ndarray]
"""The symbols of a source and of its target."""


class Missed(NamedTuple):
    """What a shortlist would have missed on pairs that it did not learn from."""

    tokens: float  # share of target symbols that are not in their sentence's list
    sentences: float  # share of sentences with such a symbol
    size: float  # symbols of a list, on average


class Links(NamedTuple):
    """All pairs of a source position, or none at all, with a target position of the same pair."""

    keys: np.ndarray  # source symbol · target symbols + target symbol
    firsts: np.ndarray  # the first link of each target position


class Probabilities(NamedTuple):
    """t(target | source) of every pair of symbols that occur together; keys are in order."""

    keys: np.ndarray
    values: np.ndarray


def _links(pairs: Sequence[Pair], nothing: int, size: int) -> Links:
    """Every target position beside every source position and beside nothing."""
    keys, counts = [], []
    for source, target in pairs:
        links = np.append(source, nothing).astype(np.int64)[None] * size + target[:, None]
        keys.append(links.ravel())
        counts.append(np.full(len(target), len(source) + 1))
    sizes = np.concatenate(counts)
    return Links(np.concatenate(keys), np.cumsum(sizes) - sizes)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Pairs in turn, as many at a time as have so many links."""
    chunk: list[Pair] = []
    links = 0
    for source, target in pairs:
        if not len(target):
            continue
        chunk.append((source, target))
        links += (len(source) + 1) * len(target)
        if links >= LINKS:
            yield chunk
            chunk, links = [], 0
    if chunk:
        yield chunk


def translation_probabilities(
    pairs: Sequence[Pair], *, sources: int, targets: int, rounds: int = 4
) -> Probabilities:
    """IBM model 1 from equal probabilities, in float64; source number `sources` is no word."""
    known = np.empty(0, dtype=np.int64)
    for chunk in _chunks(pairs):
        known = np.union1d(known, _links(chunk, sources, targets).keys)
    origin = known // targets
    values = np.ones(len(known))
    for _ in range(rounds):
        counts = np.zeros(len(known))
        for chunk in _chunks(pairs):
            counts += _expected_counts(_links(chunk, sources, targets), known, values)
        totals = np.bincount(origin, counts, minlength=sources + 1)
        values = counts / np.maximum(totals[origin], np.finfo(np.float64).tiny)
    return Probabilities(known, values)


def _expected_counts(links: Links, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How often each pair of symbols is linked, if each target position has one link."""
    where = np.searchsorted(known, links.keys)
    likely = values[where]
    sums = np.add.reduceat(likely, links.firsts)
    sizes = np.diff(np.append(links.firsts, len(likely)))
    counts: np.ndarray = np.bincount(where, likely / np.repeat(sums, sizes), minlength=len(known))
    return counts


@dataclass(frozen=True)
class Shortlist:
    """The translations of each source symbol, and what every sentence may use besides."""

    words: np.ndarray  # int32: of one source symbol after the other, the likeliest first
    starts: np.ndarray  # int64, one more than there are source symbols
    frequent: np.ndarray  # int32
    size: int  # target symbols in all

    @classmethod
    def learn(
        cls,
        pairs: Sequence[Pair],
        sizes: tuple[int, int],
        *,
        best: int = 100,
        frequent: int = 1_000,
        rounds: int = 4,
    ) -> "Shortlist":
        """Keep the `best` translations of each source symbol, and the most frequent symbols."""
        sources, targets = sizes
        found = translation_probabilities(pairs, sources=sources, targets=targets, rounds=rounds)
        origin, word = found.keys // targets, (found.keys % targets).astype(np.int32)
        order = np.lexsort((word, -found.values, origin))
        origin, word = origin[order], word[order]
        rank = np.arange(len(origin)) - np.searchsorted(origin, origin)
        origin, word = origin[rank < best], word[rank < best]
        starts = np.searchsorted(origin, np.arange(sources + 1))
        counts = np.bincount(np.concatenate([target for _, target in pairs]), minlength=targets)
        counts[:SPECIAL] = counts.max() + 1
        usual = np.argsort(-counts, kind="stable")[: frequent + SPECIAL]
        unaligned = word[starts[sources] :]
        always = np.union1d(usual, unaligned).astype(np.int32)
        return cls(word[: starts[sources]], starts, always, targets)

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as named arrays, for files."""
        return {
            "words": self.words,
            "starts": self.starts.astype(np.int64),
            "frequent": self.frequent,
            "size": np.array([self.size], dtype=np.int64),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray], *, place: str) -> "Shortlist":
        """The inverse of `arrays`; RunError where they are not those of a shortlist."""
        try:
            words, starts, frequent = (arrays[name] for name in ("words", "starts", "frequent"))
            size = int(arrays["size"][0])
            symbols = np.concatenate([words, frequent])
            sound = (
                words.dtype == frequent.dtype == np.int32
                and starts.dtype == np.int64
                and bool((np.diff(starts) >= 0).all())
                and (int(starts[0]), int(starts[-1])) == (0, len(words))
                and int(symbols.min()) >= 0
                and int(symbols.max()) < size
            )
        except (LookupError, TypeError, ValueError):
            sound = False
        if not sound:
            remedy = Remedy("make it again with {}", Command("optimize", "DIR"))
            raise RunError("not a shortlist", place=place, remedy=remedy)
        return cls(words, starts, frequent, size)

    @cached_property
    def _table(self) -> np.ndarray:
        """The translations of each source symbol, filled up with one that is always there."""
        sizes = np.diff(self.starts)
        table = np.full((len(sizes), int(sizes.max(initial=0))), self.frequent[0], dtype=np.int32)
        table[np.arange(table.shape[1]) < sizes[:, None]] = self.words
        return table

    def for_rows(
        self, rows: Sequence[np.ndarray], *, needed: Sequence[Sequence[int]] | None = None
    ) -> WordLists:
        """The symbols that each source may need, and those that its constraints name."""
        lists = []
        wanted = np.zeros(self.size, dtype=bool)
        for number, row in enumerate(rows):
            wanted[self.frequent] = True
            wanted[self._table[row]] = True
            if needed is not None:
                wanted[list(needed[number])] = True
            absent = self._sample[~wanted[self._sample]]
            lists.append(np.concatenate([np.flatnonzero(wanted), -1 - absent]).astype(np.int32))
            wanted[:] = False
        starts = np.cumsum([0, *map(len, lists)], dtype=np.int32)
        return WordLists(np.concatenate(lists), starts)

    @cached_property
    def _sample(self) -> np.ndarray:
        """Symbols from all over the vocabulary, by which those that are absent are estimated."""
        return np.unique(np.linspace(SPECIAL, self.size - 1, SAMPLE, dtype=np.int64))

    def count_missing(self, pairs: Sequence[Pair]) -> Missed:
        """What outputs equal to these targets would have lacked."""
        lists = self.for_rows([source for source, _ in pairs])
        tokens, lacking, sentences = 0, 0, 0
        for number, (_, target) in enumerate(pairs):
            own = lists.words[lists.starts[number] : lists.starts[number + 1]]
            absent = int((~np.isin(target, own)).sum())
            tokens, lacking = tokens + len(target), lacking + absent
            sentences += absent > 0
        count = max(1, len(pairs))
        listed = int((lists.words >= 0).sum())
        return Missed(lacking / max(1, tokens), sentences / count, listed / count)
