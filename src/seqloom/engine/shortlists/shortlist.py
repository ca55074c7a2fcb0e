"""Vocabulary shortlists: candidate target symbols of a source, learnt from training pairs.

Translation probabilities are those of IBM model 1 (Brown et al. 1993), by a few rounds of
expectation maximization over all links of a source symbol and a target symbol of the same pair. A
sentence may use the most probable translations of its symbols, and the most frequent symbols of
all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seqloom.engine.shortlists.word_lists import SharedWords, WordLists
from seqloom.errors import RunError
from seqloom.remedies import Command, Remedy

__all__ = ["Missed", "Pair", "Shortlist", "translation_probabilities"]

LINKS = 4_000_000  # links processed at once
SAMPLE = 256  # absent symbols from which the total probability of absent ones is estimated
SPECIAL = 4  # special symbols, which are always allowed

Pair = tuple[np.ndarray, np.ndarray]
"""The symbols of a source and of its target."""


class Missed(NamedTuple):
    """Coverage of a shortlist on held-out pairs."""

    tokens: float  # share of target symbols absent from their sentence's list
    sentences: float  # share of sentences with an absent symbol
    size: float  # mean size of a list


class Links(NamedTuple):
    """All pairs of a source position, or NULL, with a target position of the same pair."""

    keys: np.ndarray  # source symbol · number of target symbols + target symbol
    firsts: np.ndarray  # the first link of each target position


class Probabilities(NamedTuple):
    """t(target | source) of every pair of symbols that co-occur, sorted by key."""

    keys: np.ndarray
    values: np.ndarray


def _links(pairs: Sequence[Pair], nothing: int, size: int) -> Links:
    """Link every target position to every source position and to NULL."""
    keys, counts = [], []
    for source, target in pairs:
        links = np.append(source, nothing).astype(np.int64)[None] * size + target[:, None]
        keys.append(links.ravel())
        counts.append(np.full(len(target), len(source) + 1))
    sizes = np.concatenate(counts)
    return Links(np.concatenate(keys), np.cumsum(sizes) - sizes)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Chunks of pairs with a bounded number of links."""
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
    """Train IBM model 1 from uniform probabilities, in float64; source number `sources` is NULL."""
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
    """The expected count of each pair of symbols, if each target position has one link."""
    where = np.searchsorted(known, links.keys)
    likely = values[where]
    sums = np.add.reduceat(likely, links.firsts)
    sizes = np.diff(np.append(links.firsts, len(likely)))
    counts: np.ndarray = np.bincount(where, likely / np.repeat(sums, sizes), minlength=len(known))
    return counts


@dataclass(frozen=True)
class Shortlist:
    """The translations of each source symbol, and the symbols allowed in every sentence."""

    words: np.ndarray  # int32: by source symbol, the most probable first
    starts: np.ndarray  # int64, one more than there are source symbols
    frequent: np.ndarray  # int32
    size: int  # number of target symbols

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
        """Learn the `best` translations of each source symbol, and the most frequent symbols."""
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
        """The shortlist as named arrays, for files."""
        return {
            "words": self.words,
            "starts": self.starts.astype(np.int64),
            "frequent": self.frequent,
            "size": np.array([self.size], dtype=np.int64),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray], *, place: str) -> "Shortlist":
        """The inverse of `arrays`; RunError if they are invalid."""
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
    def shared(self) -> SharedWords:
        """The lists shared by all sentences, in the core's layout."""
        usual = np.zeros(self.size, dtype=bool)
        usual[self.frequent] = True
        origin = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        rare = ~usual[self.words]
        sample = np.unique(np.linspace(SPECIAL, self.size - 1, SAMPLE, dtype=np.int64))
        return SharedWords(
            np.flatnonzero(usual).astype(np.int32),
            sample[~usual[sample]].astype(np.int32),
            np.ascontiguousarray(self.words[rare]),
            np.searchsorted(origin[rare], np.arange(len(self.starts))).astype(np.int32),
        )

    def for_rows(
        self, rows: Sequence[np.ndarray], *, needed: Sequence[Sequence[int]] | None = None
    ) -> WordLists:
        """The candidate symbols of each source, and those required by its constraints."""
        return WordLists.of([()] * len(rows) if needed is None else needed, self.shared)

    def symbols(self, row: np.ndarray) -> np.ndarray:
        """All allowed output symbols of this source, sorted."""
        translations = [self.words[self.starts[i] : self.starts[i + 1]] for i in row]
        return np.unique(np.concatenate([self.frequent, *translations]))

    def count_missing(self, pairs: Sequence[Pair]) -> Missed:
        """Measure the coverage of these targets."""
        tokens, lacking, sentences, listed = 0, 0, 0, 0
        for source, target in pairs:
            own = self.symbols(source)
            absent = int((~np.isin(target, own)).sum())
            tokens, lacking, listed = tokens + len(target), lacking + absent, listed + len(own)
            sentences += absent > 0
        count = max(1, len(pairs))
        return Missed(lacking / max(1, tokens), sentences / count, listed / count)
