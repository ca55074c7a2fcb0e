"""Compiled models: whole searches in the core, the attention of their outputs, and the choice of
core.
"""

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
from seqloom.engine.shortlists.shortlist import Shortlist
from seqloom.engine.shortlists.word_lists import WordLists
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

ATTENDED = 32  # sentences per batch when outputs are read again


@dataclass(frozen=True)
class CompiledModel:
    """Both sides of a model in the core, usable separately or for whole searches."""

    encoder: CompiledEncoder
    decoder: CompiledDecoder
    threads: int = 1
    shortlist: Shortlist | None = None  # restricts whole searches to its symbols

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
        """Yield the outputs of each source with its index as they are completed, so that a caller
        can process them before the last is done.
        """
        if words is None and self.shortlist is not None and self.encoder.stack.vocabulary:
            words = self.shortlist.for_rows(rows)
        stacks = self.encoder.stack, self.decoder.stack
        loop = SearchLoop(*stacks, threads=threads or self.threads)
        return loop.run_each(rows, plan, bounds, words=words)

    def attend(
        self, rows: Sequence[np.ndarray], found: Sequence[list[Hypothesis]], start: int
    ) -> list[list[Hypothesis]]:
        """The same outputs with attention, computed by reading them again after the token
        `start`.
        """
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
        """The attention of each step of each output; sentences with fewer outputs repeat their
        last.
        """
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
    """An encoder and a decoder that replace a network's own."""

    encoder: "Encoder"
    decoder: "Decoder[Any]"
    compiled: CompiledModel | None = None  # for whole searches, if both parts are compiled
    name: str = NETWORK
    reason: str = ""  # why the compiled core does not run all of it

    @property
    def whole(self) -> CompiledModel | None:
        """The compiled model, if it can run whole searches: not with a front end on the source."""
        front = None if self.compiled is None else self.compiled.encoder.stack.front
        return self.compiled if front is None else None

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


def core_engine(model: CompiledModel, precision: Precision) -> Engine:
    """The engine of a model that is completely in the core."""
    name = core_name(precision) + (", shortlist" if model.shortlist is not None else "")
    return Engine(model.encoder, model.decoder, model, name)


def core_name(precision: str) -> str:
    """The name of the compiled core, with its instruction set and precision."""
    return f"compiled core, {core().sl_chosen().decode()}, {precision}"


@lru_cache
def warn_once(reason: str) -> None:
    """Warn on standard error, once per reason, about a fallback: torch instead of the compiled
    core, or an earlier step instead of a damaged one.
    """
    print(f"seqloom: {reason}", file=sys.stderr)
