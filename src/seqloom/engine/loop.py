"""Whole searches inside the core: sources in, outputs out."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import pointer
from dataclasses import dataclass

import numpy as np

from seqloom.engine.from_network import DivergedError, Hypothesis, Limits, SearchPlan
from seqloom.engine.library import (
    FoundStructure,
    SearchStructure,
    TaskStructure,
    address,
    core,
)
from seqloom.engine.matrices import Precision
from seqloom.engine.packed import PackedStack
from seqloom.engine.word_lists import WordLists, check_tokens
from seqloom.engine.workspace import check

__all__ = ["MANY", "SearchLoop"]

# Rows that a thread reads at once. More rows make a product of floats faster; products of bytes are
# at full speed with few, and keys and values of few sentences stay in the cache.
TOGETHER: dict[Precision, int] = {"float32": 120, "bfloat16": 120, "int8": 24}
NOT_A_NUMBER = 2  # what the core says of probabilities
MANY = 64  # rows for which outputs are worth taking while others are searched for
PAUSE = 0.0005  # seconds until outputs are looked for again


@dataclass(frozen=True)
class Found:
    """What the core writes its results to."""

    counts: np.ndarray
    tokens: np.ndarray
    scores: np.ndarray
    lengths: np.ndarray
    finished: np.ndarray
    ranks: np.ndarray

    @classmethod
    def room_for(cls, sentences: int, n_best: int, steps: int) -> "Found":
        outputs = sentences, n_best
        return cls(
            np.zeros(sentences, dtype=np.int32),
            np.zeros((*outputs, steps), dtype=np.int32),
            np.zeros((*outputs, steps), dtype=np.float32),
            np.zeros(outputs, dtype=np.int32),
            np.zeros(outputs, dtype=np.int32),
            np.zeros(outputs, dtype=np.float32),
        )

    def structure(self) -> FoundStructure:
        return FoundStructure(*(address(array) for array in vars(self).values()))

    def outputs(self, sentence: int) -> list[Hypothesis]:
        """The outputs of a sentence, best first."""
        found = []
        for number in range(int(self.counts[sentence])):
            length = int(self.lengths[sentence, number])
            finished = bool(self.finished[sentence, number])
            found.append(
                Hypothesis(
                    tuple(self.tokens[sentence, number, : length - finished].tolist()),
                    tuple(self.scores[sentence, number, :length].tolist()),
                    finished,
                    float(self.ranks[sentence, number]),
                )
            )
        return found


class SearchLoop:
    """Encodes and searches rows of token ids on so many threads.

    `together` sentences are searched at once by a thread; others take the places of those that
    are done.
    """

    def __init__(
        self,
        encoder: PackedStack,
        decoder: PackedStack,
        *,
        threads: int = 1,
        together: int | None = None,
    ) -> None:
        self.encoder = encoder
        self.decoder = decoder
        self.threads = threads
        self.together = together

    @property
    def _rows_at_once(self) -> int:
        output = self.decoder.output
        return TOGETHER["float32" if output is None else output.precision]

    def run(
        self,
        rows: Sequence[np.ndarray],
        plan: SearchPlan,
        limits: Limits,
        *,
        words: WordLists | None = None,
    ) -> list[list[Hypothesis]]:
        """The outputs of each row, best first; with `words`, of the symbols listed there alone."""
        found = dict(self.run_each(rows, plan, limits, words=words))
        return [found[number] for number in range(len(rows))]

    def run_each(
        self,
        rows: Sequence[np.ndarray],
        plan: SearchPlan,
        limits: Limits,
        *,
        words: WordLists | None = None,
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The same with the number of each row, the longest first; of many rows, each as soon as it
        and those before it are done, while the core searches for the others."""
        if not rows:
            return
        order = np.argsort([-len(row) for row in rows], kind="stable")  # the longest come first
        steps = int(limits.longest.max())
        found = Found.room_for(len(rows), plan.n_best, steps)
        forbidden = np.array(sorted(limits.forbidden), dtype=np.int32)
        task = _task(rows, order, limits, self.encoder)
        if words is not None:
            lists = words.take(order).structure(self.decoder.output, self.encoder.vocabulary)
            task.lists, task.kept = pointer(lists), (*task.kept, lists)
        arguments = (
            self.encoder.structure(len(rows[order[0]])),
            self.decoder.structure(steps + len(rows[order[0]]) * self.decoder.reads_prefix),
            _search(plan, limits, forbidden),
            task,
            found.structure(),
            self.threads,
            self.together or max(1, self._rows_at_once // plan.width),
        )

        def search() -> None:
            status = core().sl_search_all(*arguments)
            if status == NOT_A_NUMBER:
                raise DivergedError(
                    "the model gives probabilities that are not numbers", remedy="train it again"
                )
            check(status)

        for place in _places(search, found.counts):
            yield int(order[place]), found.outputs(place)


def _places(search: Callable[[], None], counts: np.ndarray) -> Iterator[int]:
    """The places of sentences in turn; of many, while the search goes on in a thread."""
    if len(counts) < MANY:
        search()
        yield from range(len(counts))
        return
    with ThreadPoolExecutor(1) as pool:
        searching = pool.submit(search)
        for place in range(len(counts)):
            while not counts[place] and not searching.done():
                time.sleep(PAUSE)
            if searching.done():
                searching.result()
            yield place


def _task(
    rows: Sequence[np.ndarray], order: np.ndarray, limits: Limits, encoder: PackedStack
) -> TaskStructure:
    """The rows in this order, as the core takes them."""
    lengths = np.array([len(rows[i]) for i in order], dtype=np.int32)
    items = np.concatenate([rows[i] for i in order])
    tokens, inputs = None, encoder.vector_rows(items)
    if inputs is None and encoder.vocabulary:
        tokens = items.astype(np.int32)
        check_tokens(tokens, encoder.vocabulary)
    starts = np.cumsum(lengths, dtype=np.int32) - lengths
    longest = limits.longest.numpy()[order].astype(np.int32)
    shortest = None
    if limits.shortest is not None:
        shortest = limits.shortest.numpy()[order].astype(np.int32)
    arrays = tokens, starts, lengths, inputs, longest, shortest
    task = TaskStructure(len(rows), int(longest.max()), *map(address, arrays))
    task.kept = arrays
    return task


def _search(plan: SearchPlan, limits: Limits, forbidden: np.ndarray) -> SearchStructure:
    ranking = plan.ranking
    return SearchStructure(
        plan.kind,
        plan.width,
        plan.n_best,
        plan.enough,
        plan.first,
        ranking.power,
        ranking.gnmt,
        ranking.reward,
        limits.start,
        limits.end,
        len(forbidden),
        address(forbidden),
    )
