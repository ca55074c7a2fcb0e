"""Batched encoding that caches the ids of chunks, the pieces of text between spaces."""

from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ChunkIds", "ChunkTable", "FlatIds", "concatenate"]

MOST_CHUNKS = 200_000  # cached chunks; the cache is emptied beyond
LONGEST_CHUNK = 64  # characters; texts with longer chunks are encoded one by one
BREAK = "\n"  # separates two texts


class FlatIds(NamedTuple):
    """The concatenated ids of several texts, and the number of ids of each."""

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]


class ChunkIds(NamedTuple):
    """The ids of a chunk, and whether the space after and before it takes no token."""

    ids: Sequence[int]
    closes: bool = True
    opens: bool = True


def concatenate(rows: Sequence[NDArray[np.int32]]) -> FlatIds:
    """Concatenate rows."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return FlatIds(np.concatenate(rows) if rows else np.zeros(0, np.int32), lengths)


class ChunkTable:
    """Encodes texts by concatenating the ids of their chunks, and other texts one by one.

    `encode_chunk` returns None for a chunk whose ids depend on its neighbours. `space` is the token
    between two chunks where neither side implies a space; `encode_texts` encodes texts that do not
    consist of chunks alone.
    """

    def __init__(
        self,
        encode_chunk: Callable[[str], ChunkIds | None],
        encode_texts: Callable[[Sequence[str]], Sequence[NDArray[np.int32]]],
        *,
        space: int = 0,
    ) -> None:
        self._encode_chunk = encode_chunk
        self._encode_texts = encode_texts
        self._space = space
        self._clear()

    def _clear(self) -> None:
        self._numbers: dict[str, int] = {}
        self._flat = np.zeros(0, np.int32)  # the ids of all chunks, ...
        self._ends = np.zeros(0, np.int64)  # ... and the end of each chunk in them
        self._flags = np.zeros((0, 3), bool)  # whether it is usable, closes and opens

    def encode(self, texts: Sequence[str]) -> FlatIds:
        """Encode all texts."""
        numbers, owners = self._find_all(texts)
        usable, closes, opens = self._flags.T
        whole = np.ones(len(texts), bool)
        whole[owners[~usable[numbers]]] = False
        spaced = np.zeros(len(numbers), bool)  # whether a space token precedes the chunk
        spaced[1:] = (owners[1:] == owners[:-1]) & ~(closes[numbers[:-1]] & opens[numbers[1:]])
        if whole.all():
            return self._join(numbers, owners, spaced, len(texts))
        return self._join_others(texts, whole, (numbers, owners, spaced))

    def _join_others(
        self,
        texts: Sequence[str],
        whole: NDArray[np.bool_],
        found: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]],
    ) -> FlatIds:
        """Combine ids from chunks with those of texts that cannot be composed of chunks."""
        inside = whole[found[1]]
        numbers, owners, spaced = found
        flat = self._join(numbers[inside], owners[inside], spaced[inside], len(texts))
        others = np.flatnonzero(~whole)
        rows = self._encode_texts([texts[index] for index in others.tolist()])
        lengths = flat.lengths.copy()
        starts = np.cumsum(lengths) - lengths
        places = np.repeat(starts[others], [len(row) for row in rows])
        ids = np.insert(flat.ids, places, np.concatenate(rows))
        lengths[others] = [len(row) for row in rows]
        return FlatIds(ids, lengths)

    def _find_all(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of each chunk of all texts, and the index of its text."""
        numbers = self._find(f" {BREAK} ".join(texts).split(" "))  # faster than text by text
        is_break = numbers == self._numbers.get(BREAK, -1)
        if np.count_nonzero(is_break) == len(texts) - 1:
            return numbers[~is_break], np.cumsum(is_break)[~is_break]
        chunks = [text.split(" ") for text in texts]  # where a text contains that chunk
        counts = np.fromiter(map(len, chunks), np.int64, len(chunks))
        owners = np.repeat(np.arange(len(texts)), counts)
        return self._find(list(chain.from_iterable(chunks))), owners

    def _find(self, chunks: list[str]) -> NDArray[np.int64]:
        """The number of each chunk, adding new ones."""
        numbers = np.fromiter(map(self._numbers.get, chunks, repeat(-1)), np.int64, len(chunks))
        missing = np.flatnonzero(numbers < 0)
        if not len(missing):
            return numbers
        new = dict.fromkeys(chunks[place] for place in missing.tolist())
        if len(self._numbers) + len(new) > MOST_CHUNKS:
            self._clear()
            new = dict.fromkeys(chunks)
            missing = np.arange(len(chunks))
        self._add(list(new))
        numbers[missing] = [self._numbers[chunks[place]] for place in missing.tolist()]
        return numbers

    def _add(self, chunks: Sequence[str]) -> None:
        known = len(self._numbers)
        self._numbers.update({chunk: number for number, chunk in enumerate(chunks, known)})
        found = [
            self._encode_chunk(chunk) if len(chunk) <= LONGEST_CHUNK else None for chunk in chunks
        ]
        each = [entry or ChunkIds(()) for entry in found]
        flags = [
            (entry is not None, ids.closes, ids.opens)
            for entry, ids in zip(found, each, strict=True)
        ]
        lengths = np.fromiter((len(ids.ids) for ids in each), np.int64, len(each))
        new = np.fromiter(chain.from_iterable(ids.ids for ids in each), np.int32)
        self._ends = np.concatenate([self._ends, len(self._flat) + np.cumsum(lengths)])
        self._flat = np.concatenate([self._flat, new])
        self._flags = np.concatenate([self._flags, np.array(flags, bool)])

    def _join(
        self,
        numbers: NDArray[np.int64],
        owners: NDArray[np.int64],
        spaced: NDArray[np.bool_],
        count: int,
    ) -> FlatIds:
        """Concatenate the ids of chunks, with a space token where needed."""
        starts = np.concatenate([[0], self._ends[:-1]])[numbers]
        sizes = self._ends[numbers] - starts
        lengths = np.bincount(owners, sizes + spaced, count).astype(np.int64)
        after = np.cumsum(sizes + spaced)  # end of each chunk in the result
        places = np.arange(int(sizes.sum()))
        firsts = np.cumsum(sizes) - sizes
        picked = self._flat[places + np.repeat(starts - firsts, sizes)]
        if not spaced.any():
            return FlatIds(picked, lengths)
        ids = np.full(int(after[-1]), self._space, np.int32)
        ids[places + np.repeat(after - sizes - firsts, sizes)] = picked
        return FlatIds(ids, lengths)
