"""Whole searches inside the core, from sources to outputs."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import pointer
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Int

from seqloom.config import SearchConfig
from seqloom.config.searches import AUTO, BeamOptions
from seqloom.engine.library import (
    FoundStructure,
    SearchStructure,
    TaskStructure,
    address,
    core,
)
from seqloom.engine.matrices import Precision
from seqloom.engine.packed import PackedStack
from seqloom.engine.shortlists.word_lists import WordLists, check_tokens
from seqloom.engine.workspace import check
from seqloom.errors import DivergedError
from seqloom.fields import END, START
from seqloom.search.hypothesis import Hypothesis

__all__ = [
    "BEAM",
    "GREEDY",
    "MANY",
    "PATIENT",
    "Bounds",
    "LengthRanking",
    "SearchBounds",
    "SearchLoop",
    "SearchPlan",
    "configured_plan",
]

# Rows per call and thread. More rows make a product of floats faster; products of bytes are at full
# speed with few, and keys and values of few sentences stay in the cache.
TOGETHER: dict[Precision, int] = {"float32": 120, "bfloat16": 120, "int8": 24}
NOT_A_NUMBER = 2  # the core's status for NaN probabilities
MANY = 64  # rows from which on outputs are collected while the search continues
PAUSE = 0.0005  # seconds between polls for outputs


GREEDY, BEAM, PATIENT = range(3)


class LengthRanking(NamedTuple):
    """The core's ranking of outputs, by log-probability and length."""

    power: float = 0.0
    gnmt: float = 0.0
    reward: float = 0.0

    @classmethod
    def from_config(cls, options: SearchConfig) -> "LengthRanking | None":
        """The ranking in a run's options; None if the core does not support it."""
        if options.ranking != AUTO or options.coverage:
            return None
        return cls(options.length_power, options.length_gnmt, options.length_reward)


@dataclass(frozen=True)
class SearchPlan:
    """The parameters of a search in the core."""

    kind: int
    width: int = 1
    n_best: int = 1
    enough: int = 1
    first: bool = False
    ranking: LengthRanking = LengthRanking()  # noqa: RUF009  (it is frozen)


class SearchBounds(Protocol):
    """Length limits of outputs, and forbidden tokens."""

    @property
    def longest(self) -> Any: ...  # (B,), with `<end>`

    @property
    def shortest(self) -> Any: ...  # (B,), or None

    @property
    def forbidden(self) -> tuple[int, ...]: ...

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


@dataclass(frozen=True)
class Bounds:
    """The bounds as arrays."""

    longest: Int[np.ndarray, "B"]
    shortest: Int[np.ndarray, "B"] | None = None
    forbidden: tuple[int, ...] = ()
    start: int = START
    end: int = END


def configured_plan(
    kind: str, given: Mapping[str, Any], options: SearchConfig, n_best: int
) -> SearchPlan | None:
    """The core's plan for the search of a run's options; None if the core has no loop for it."""
    ranking, make = LengthRanking.from_config(options), PLANS.get(kind)
    if ranking is None or make is None:
        return None
    return make({"width": max(options.beam, n_best), **given}, n_best, ranking)


def _plan_greedy(
    given: Mapping[str, Any], n_best: int, ranking: LengthRanking
) -> SearchPlan | None:
    return SearchPlan(GREEDY) if n_best == 1 else None


def _plan_beam(given: Mapping[str, Any], n_best: int, ranking: LengthRanking) -> SearchPlan | None:
    options = BeamOptions(**given)
    if options.patience is not None:
        return None
    return SearchPlan(BEAM, max(options.width, n_best), n_best, ranking=ranking)


PLANS: dict[str, Callable[[Mapping[str, Any], int, LengthRanking], SearchPlan | None]] = {
    "greedy": _plan_greedy,
    "beam": _plan_beam,
}


@dataclass(frozen=True)
class Found:
    """The buffers for the core's results."""

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
    """Encodes and searches rows of token ids in several threads.

    A thread searches `together` sentences at once; new ones replace those that are done.
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
        bounds: SearchBounds,
        *,
        words: WordLists | None = None,
    ) -> list[list[Hypothesis]]:
        """The outputs of each row, best first; with `words`, restricted to the symbols listed
        there.
        """
        found = dict(self.run_each(rows, plan, bounds, words=words))
        return [found[number] for number in range(len(rows))]

    def run_each(
        self,
        rows: Sequence[np.ndarray],
        plan: SearchPlan,
        bounds: SearchBounds,
        *,
        words: WordLists | None = None,
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Yield the outputs of each row with its index, the longest first; of many rows, each as
        soon as it and its predecessors are done, while the core continues.
        """
        if not rows:
            return
        order = np.argsort([-len(row) for row in rows], kind="stable")  # the longest first
        steps = int(bounds.longest.max())
        found = Found.room_for(len(rows), plan.n_best, steps)
        forbidden = np.array(sorted(bounds.forbidden), dtype=np.int32)
        task = _task(rows, order, bounds, self.encoder)
        if words is not None:
            lists = words.take(order).structure(self.decoder.output, self.encoder.vocabulary)
            task.lists, task.kept = pointer(lists), (*task.kept, lists)
        arguments = (
            self.encoder.structure(len(rows[order[0]])),
            self.decoder.structure(steps + len(rows[order[0]]) * self.decoder.reads_prefix),
            _search(plan, bounds, forbidden),
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
    """Yield the places of sentences in turn; of many, while the search runs in a thread."""
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
    rows: Sequence[np.ndarray], order: np.ndarray, bounds: SearchBounds, encoder: PackedStack
) -> TaskStructure:
    """The rows in this order, as a structure of the core."""
    lengths = np.array([len(rows[i]) for i in order], dtype=np.int32)
    items = np.concatenate([rows[i] for i in order])
    tokens, inputs = None, encoder.vector_rows(items)
    if inputs is None and encoder.vocabulary:
        tokens = items.astype(np.int32)
        check_tokens(tokens, encoder.vocabulary)
    starts = np.cumsum(lengths, dtype=np.int32) - lengths
    longest = np.asarray(bounds.longest)[order].astype(np.int32)
    shortest = None
    if bounds.shortest is not None:
        shortest = np.asarray(bounds.shortest)[order].astype(np.int32)
    arrays = tokens, starts, lengths, inputs, longest, shortest
    task = TaskStructure(len(rows), int(longest.max()), *map(address, arrays))
    task.kept = arrays
    return task


def _search(plan: SearchPlan, bounds: SearchBounds, forbidden: np.ndarray) -> SearchStructure:
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
        bounds.start,
        bounds.end,
        len(forbidden),
        address(forbidden),
    )
