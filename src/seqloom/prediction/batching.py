"""Batches of inputs: padded, of like length, and decoded together, a step at a time (S7.4).

In a continuous batch inputs come and go one by one. `predict` lets inputs join those that are half
done; a server those that arrive meanwhile, of which each may be given up or watched while it is
written. Several batches are worked on at a time: one thread for each core, instead of all cores for
each.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch

from seqloom.config import Config, SearchConfig
from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, TextField, Values
from seqloom.fields.items import batch_dtype
from seqloom.model import Decoder, Encoder, SequenceModel, Source
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.output import Output
from seqloom.prediction.request import DecodingRequest, DecodingResult
from seqloom.search import (
    Hypothesis,
    Limits,
    Search,
    SearchNode,
    StableToken,
    drop_finished,
    join_frontiers,
    search_trees,
    stable_tokens,
)

__all__ = [
    "ContinuousBatch",
    "DecodingModel",
    "PendingInput",
    "Tag",
    "batch_by_length",
    "batch_key",
    "limits_for",
    "pad_batch",
    "parallel_map",
]


BATCH_POSITIONS = 4_096  # of the source, in a batch


def batch_by_length(lengths: list[int], *, most: int) -> Iterator[list[int]]:
    """Numbers of rows of like length together, longest first, each batch within the limits."""
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    start = 0
    while start < len(order):
        count = max(1, min(most, BATCH_POSITIONS // lengths[order[start]]))
        yield order[start : start + count]
        start += count


def pad_batch(rows: list[Values]) -> Source:
    """Rows as one batch."""
    lengths = np.array([len(row) for row in rows])
    shape = (len(rows), lengths.max(), *rows[0].shape[1:])
    table = np.full(shape, EMPTY, dtype=batch_dtype(rows[0].dtype))
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return Source(torch.from_numpy(table), torch.from_numpy(lengths))


Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """What `work` makes of each item, in order; as many at a time as torch may use threads."""
    cores = torch.get_num_threads()
    if min(cores, len(items)) < 2:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)


Tag = TypeVar("Tag", bound=Hashable)


class DecodingModel(Protocol):
    """A model as far as decoding knows it."""

    @property
    def config(self) -> Config: ...

    @property
    def target(self) -> TextField: ...

    @property
    def network(self) -> SequenceModel: ...

    @property
    def encoder(self) -> Encoder: ...

    @property
    def decoder(self) -> Decoder[Any]: ...

    def build_output(
        self, source: EncodedInput, found: DecodingResult, asked: DecodingRequest
    ) -> Output:
        """The output for an input, with what was asked for beside it."""
        ...


@dataclass(frozen=True)
class PendingInput(Generic[Tag]):
    """An input that is to be decoded; the tag is whatever its caller knows it by."""

    tag: Tag
    encoded: EncodedInput
    line: int  # its number among the inputs of its caller, from which random draws come
    request: DecodingRequest


def batch_key(asked: DecodingRequest) -> Hashable | None:
    """Inputs for which this is equal may be decoded together; those for which it is None, not.

    A tree is that of a whole batch, and some searches cannot be joined.
    """
    if asked.options.tree or not asked.search.can_join:
        return None
    constraints = asked.constraints
    return (
        asked.search,
        asked.trace,
        constraints.required,
        constraints.rules,
        constraints.n_alternatives,
    )


def limits_for(inputs: Sequence[PendingInput[Tag]], options: SearchConfig) -> Limits:
    """What outputs may be, for inputs that may be decoded together."""
    groups = groupby(inputs, key=lambda each: each.request.constraints)
    return reduce(Limits.join, (_group_limits(list(group), options) for _, group in groups))


def _group_limits(group: Sequence[PendingInput[Tag]], options: SearchConfig) -> Limits:
    """Of inputs that have the same constraints."""
    lengths = torch.tensor([len(each.encoded.values) for each in group])
    lines = torch.tensor([each.line for each in group])
    return group[0].request.constraints.limits(lengths, lines, options)


@dataclass
class ContinuousBatch(Generic[Tag]):
    """Inputs on the way to their outputs, for which `sharing` is equal, or a single one."""

    model: DecodingModel
    pending: list[PendingInput[Tag]] = field(default_factory=list)  # in the order of the sentences
    state: Any = None
    source_positions: dict[Tag, int] = field(
        default_factory=dict
    )  # positions that each can look at

    @property
    def tags(self) -> list[Tag]:
        """Those of the inputs that are not done."""
        return [each.tag for each in self.pending]

    @property
    def _can_join(self) -> bool:
        return not self.pending or self.pending[0].request.search.can_join

    @property
    def done(self) -> bool:
        """Whether no input is left."""
        return not self.pending

    @torch.inference_mode()
    def add(self, newcomers: Sequence[PendingInput[Tag]]) -> dict[Tag, Output]:
        """Let these inputs join.

        Where a search cannot do without, their first step is made before, and some may be done.
        """
        search, outputs = newcomers[0].request.search, dict[Tag, Output]()
        fresh = ContinuousBatch(
            self.model, list(newcomers), self._begin(newcomers), self.source_positions
        )
        if not search.joins_before_first_step:
            fresh.state = search.advance(self.model.decoder, fresh.state)
            outputs = fresh._take_finished()
        together = self.join(fresh)
        self.pending, self.state = together.pending, together.state
        return outputs

    @torch.inference_mode()
    def join(self, other: "ContinuousBatch[Tag]") -> "ContinuousBatch[Tag]":
        """The inputs of both, which may be decoded together; both are consumed."""
        if self.done or other.done:
            return other if self.done else self
        state = join_frontiers(self.state, other.state)
        return ContinuousBatch(
            self.model,
            [*self.pending, *other.pending],
            state,
            self.source_positions | other.source_positions,
        )

    @torch.inference_mode()
    def advance(self) -> dict[Tag, Output]:
        """One step of every input, and the outputs of those that are done by it."""
        search = self.pending[0].request.search
        self.state = search.advance(self.model.decoder, self.state)
        return self._take_finished()

    @torch.inference_mode()
    def advance_until(self, least: int) -> dict[Tag, Output]:
        """Steps until at most so many inputs are left, and the outputs of the others.

        Where a search cannot be joined, none is left.
        """
        if self.done:
            return {}
        search, state = self.pending[0].request.search, self.state
        while not state.done and not (search.can_join and len(state.sentences) <= least):
            state = search.advance(self.model.decoder, state)
        self.state = state
        return self._take_finished()

    def cancel(self, tags: set[Tag]) -> None:
        """Go on without these inputs."""
        for tag in tags:
            self.source_positions.pop(tag, None)
        if not self._can_join:
            if all(each.tag in tags for each in self.pending):
                self.pending = []
            return
        gone = torch.tensor([each.tag in tags for each in self.pending])
        if bool(gone.any()):
            self.state = drop_finished(self.state.drop_sentences(gone))
            self.pending = [each for each in self.pending if each.tag not in tags]

    def stable_tokens(self, tag: Tag, known: int) -> list[StableToken]:
        """The tokens after the first `known` that the output for an input will have for certain."""
        places = [place for place, each in enumerate(self.pending) if each.tag == tag]
        if not places or not self._can_join:
            return []
        return stable_tokens(self.state, places[0], known)

    def _begin(self, newcomers: Sequence[PendingInput[Tag]]) -> Any:
        model, asked = self.model, newcomers[0].request
        if model.network.training:
            model.network.eval()
        source = pad_batch([each.encoded.values for each in newcomers])
        limits = limits_for(newcomers, model.config.search)
        memory = model.encoder.encode(source)
        seen = memory.source_lengths(source)
        self.source_positions |= {
            each.tag: count for each, count in zip(newcomers, seen.tolist(), strict=True)
        }
        state = model.decoder.start(memory, trace=asked.trace)
        return asked.search.begin(state, replace(limits, sources=seen))

    def _take_finished(self) -> dict[Tag, Output]:
        """The outputs of what is done, which is then no longer here."""
        state = self.state
        staying = set(state.open_sentences)
        gone = [place for place in range(len(self.pending)) if place not in staying]
        if not gone:
            return {}
        asked = self.pending[0].request
        found = asked.search.for_texts(self.model.target.decode).results(state)
        branches: list[list[SearchNode]] = [[] for _ in found]
        if asked.options.tree:
            branches = _trees(asked.search, state, found)
        done = [self.pending[place] for place in gone]
        outputs = {
            each.tag: self.model.build_output(
                each.encoded,
                DecodingResult(result, tree, self.source_positions.pop(each.tag)),
                each.request,
            )
            for each, result, tree in zip(done, found, branches, strict=True)
        }
        self.pending = [each for each in self.pending if each.tag not in outputs]
        if state.done:
            self.state = None
        elif asked.search.can_join:
            self.state = drop_finished(state)
        return outputs


def _trees(search: Search, state: Any, found: list[list[Hypothesis]]) -> list[list[SearchNode]]:
    """Everything a search looked at, a tree for each sentence; ConfigError where it keeps none."""
    if not search.can_join:
        raise ConfigError("this search keeps no tree to show", remedy="use a beam")
    return search_trees(state, found)
