"""A model in the core: whole searches, the attention of their outputs, and what it runs."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from seqloom.engine.decoder import CompiledDecoder
from seqloom.engine.encoder import CompiledEncoder
from seqloom.engine.library import core
from seqloom.engine.loop import SearchBounds, SearchLoop, SearchPlan
from seqloom.engine.matrices import Precision
from seqloom.engine.shortlist import Shortlist
from seqloom.engine.word_lists import WordLists
from seqloom.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    from seqloom.model import Decoder, Encoder

__all__ = [
    "NETWORK",
    "CompiledModel",
    "Engine",
    "core_engine",
    "core_name",
    "warn_once",
]

NETWORK = "the network itself"

ATTENDED = 32  # sentences whose outputs are read once more together


@dataclass(frozen=True)
class CompiledModel:
    """Both sides of a model in the core, each usable by itself, and whole searches."""

    encoder: CompiledEncoder
    decoder: CompiledDecoder
    threads: int = 1
    shortlist: Shortlist | None = None  # the symbols that whole searches choose from

    def search(
        self,
        rows: Sequence[np.ndarray],
        plan: SearchPlan,
        bounds: SearchBounds,
        *,
        words: WordLists | None = None,
        threads: int | None = None,
    ) -> list[list[Hypothesis]]:
        """The outputs of each source, without attention until `attend` adds it."""
        outputs = dict(self.search_each(rows, plan, bounds, words=words, threads=threads))
        return [outputs[number] for number in range(len(rows))]

    def search_each(
        self,
        rows: Sequence[np.ndarray],
        plan: SearchPlan,
        bounds: SearchBounds,
        *,
        words: WordLists | None = None,
        threads: int | None = None,
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The same with the number of each source, as they are done: who makes something of them
        need not wait for the last."""
        if words is None and self.shortlist is not None and self.encoder.stack.vocabulary:
            words = self.shortlist.for_rows(rows)
        stacks = self.encoder.stack, self.decoder.stack
        loop = SearchLoop(*stacks, threads=threads or self.threads)
        return loop.run_each(rows, plan, bounds, words=words)

    def attend(
        self, rows: Sequence[np.ndarray], found: Sequence[list[Hypothesis]], start: int
    ) -> list[list[Hypothesis]]:
        """The same outputs with their attention, for which they are read once more after the token
        `start`."""
        if not self.decoder.stack.attends:
            return list(found)
        attended: list[list[Hypothesis]] = []
        for first in range(0, len(rows), ATTENDED):
            some, outputs = rows[first : first + ATTENDED], found[first : first + ATTENDED]
            attention = self._attention(some, outputs, start)
            attended += [
                [
                    replace(each, attention=weights[: len(each.token_scores)])
                    for each, weights in zip(mine, theirs, strict=False)
                ]
                for mine, theirs in zip(outputs, attention, strict=True)
            ]
        return attended

    def _attention(
        self, rows: Sequence[np.ndarray], found: Sequence[list[Hypothesis]], start: int
    ) -> Float[np.ndarray, "B K T S"]:
        """Of each step of each output; of sentences with fewer outputs, the last are repeated."""
        count = max(map(len, found))
        outputs = [each for mine in found for each in (*mine, *mine[-1:] * (count - len(mine)))]
        inputs = np.zeros((len(outputs), max(len(each.token_scores) for each in outputs)), np.int64)
        for row, each in zip(inputs, outputs, strict=True):
            read = (start, *each.tokens)[: len(each.token_scores)]
            row[: len(read)] = read
        lengths = np.array([len(row) for row in rows])
        mask = np.arange(lengths.max()) < lengths[:, None]
        memory = self.encoder.encode_arrays(np.concatenate(rows), mask)
        state = self.decoder.start_arrays(memory, trace=True)
        state = state.select(np.arange(len(rows)).repeat(count))
        features, _ = self.decoder.read_arrays(inputs, state)
        weights = features.attention
        if weights is None:
            raise TypeError("this decoder does not attend")
        return weights.reshape(len(rows), count, *weights.shape[1:])


@dataclass(frozen=True)
class Engine:
    """What encodes and decodes in place of a network's own parts."""

    encoder: "Encoder"
    decoder: "Decoder[Any]"
    compiled: CompiledModel | None = None  # where the core has both parts: whole searches too
    name: str = NETWORK
    reason: str = ""  # why the compiled core does not run all of it

    @property
    def whole(self) -> CompiledModel | None:
        """The model, if the core can carry out searches as a whole: not where a front end reads
        the source."""
        front = None if self.compiled is None else self.compiled.encoder.stack.front
        return self.compiled if front is None else None

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


def core_engine(model: CompiledModel, precision: Precision) -> Engine:
    """An engine of a model that is in the core as a whole."""
    name = core_name(precision) + (", shortlist" if model.shortlist is not None else "")
    return Engine(model.encoder, model.decoder, model, name)


def core_name(precision: str) -> str:
    """The compiled core, with its instruction set and precision."""
    return f"compiled core, {core().sl_chosen().decode()}, {precision}"


@lru_cache
def warn_once(reason: str) -> None:
    """Say on standard error, once for each reason, why something else than the best is used: torch
    for the compiled core, or a step for a better one that is damaged."""
    print(f"seqloom: {reason}", file=sys.stderr)
