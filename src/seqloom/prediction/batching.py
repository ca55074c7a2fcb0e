"""Batching: padded batches of similar length, and continuous batching of decoding (S7.4).

In a continuous batch inputs join and leave individually. `predict` refills half-finished batches; a
server adds requests as they arrive, each of which can be cancelled or streamed. Several batches run
at a time, with one thread per core instead of all cores for each.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch

from seqloom.config import Config, SearchConfig
from seqloom.engine.core_model import Engine
from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, TextField, Values
from seqloom.fields.items import batch_dtype
from seqloom.model import Decoder, Encoder, SequenceModel, Source
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.listing.decoder import ListedDecoder, ListedState, SymbolList
from seqloom.prediction.listing.symbols import GroupConstraints, listed_decoder, restore_symbols
from seqloom.prediction.output import Output
from seqloom.prediction.request import DecodingRequest, DecodingResult, PendingInput, Tag, batch_key
from seqloom.search import (
    ForbiddenPhrases,
    Hypothesis,
    Limits,
    NoRepeat,
    Phrase,
    Prefix,
    RequiredPhrases,
    Rule,
    Search,
    SearchNode,
    StableToken,
    drop_finished,
    join_frontiers,
    search_trees,
    stable_tokens,
)

__all__ = [
    "ROWS",
    "ContinuousBatch",
    "DecodingModel",
    "batch_by_length",
    "count_positions",
    "decode_batches",
    "decode_parallel",
    "pad_batch",
    "parallel_map",
    "warm_up",
]


BATCH_POSITIONS = 4_096  # most source positions in a batch
BATCH_SENTENCES = 64  # inputs decoded at once
MIN_THREAD_INPUTS = 8  # fewer inputs are not worth a thread of their own
ROWS = 320  # most paths searched at once


def batch_by_length(lengths: list[int], *, most: int) -> Iterator[list[int]]:
    """Group row numbers by similar length, longest first, each batch within the limits."""
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
    """Apply `work` to each item in parallel, in order, with torch's number of threads."""
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


class DecodingModel(Protocol):
    """The interface of a model for decoding."""

    @property
    def config(self) -> Config: ...

    @property
    def target(self) -> TextField: ...

    @property
    def network(self) -> SequenceModel: ...

    @property
    def engine(self) -> Engine | None: ...

    @property
    def encoder(self) -> Encoder: ...

    @property
    def decoder(self) -> Decoder[Any]: ...

    def build_output(
        self, source: EncodedInput, found: DecodingResult, asked: DecodingRequest
    ) -> Output:
        """The output for an input, with the requested extras."""
        ...


def limits_for(
    inputs: Sequence[PendingInput[Tag]],
    options: SearchConfig,
    decoder: ListedDecoder | None = None,
) -> tuple[Limits, list[SymbolList]]:
    """The limits of outputs, for inputs that may be decoded together, and the symbol list of each
    if this decoder writes listed symbols alone."""
    limits, lists = [], list[SymbolList]()
    for _, each in groupby(inputs, key=lambda each: each.request.constraints):
        group = list(each)
        given = GroupConstraints.of(group, options)
        if decoder is not None:
            own = given.list_symbols(decoder, [each.encoded.values for each in group])
            given, lists = given.rename(own), [*lists, *own]
        limits.append(_limits(given))
    return reduce(Limits.join, limits), lists


def _limits(given: GroupConstraints) -> Limits:
    """The limits of inputs with the same constraints."""
    constraints, bounds = given.constraints, given.bounds
    rules: list[Rule] = []
    if constraints.forbidden:
        rules.append(ForbiddenPhrases(constraints.forbidden))
    if constraints.no_repeat:
        rules.append(NoRepeat(constraints.no_repeat))
    required = None
    if constraints.required:
        required = RequiredPhrases.from_alternatives(constraints.required, end=bounds.end)
    return Limits(
        torch.from_numpy(bounds.longest),
        start=bounds.start,
        end=bounds.end,
        forbidden=bounds.forbidden,
        shortest=None if bounds.shortest is None else torch.from_numpy(bounds.shortest),
        lines=torch.tensor(given.lines),
        prefix=_prefix(given.prefixes),
        required=required,
        rules=tuple(rules),
        n_alternatives=constraints.n_alternatives,
    )


def _prefix(phrases: Sequence[Phrase]) -> Prefix | None:
    """The prefixes as a padded table."""
    if not any(phrases):
        return None
    lengths = torch.tensor([len(phrase) for phrase in phrases])
    table = torch.full((len(phrases), int(lengths.max())), EMPTY, dtype=torch.int64)
    for row, phrase in zip(table, phrases, strict=True):
        row[: len(phrase)] = torch.tensor(phrase, dtype=torch.int64)
    return Prefix(table, lengths)


@dataclass
class ContinuousBatch(Generic[Tag]):
    """A batch being decoded: inputs with equal `batch_key`, or a single one."""

    model: DecodingModel
    pending: list[PendingInput[Tag]] = field(default_factory=list)  # in the order of the sentences
    state: Any = None
    source_positions: dict[Tag, int] = field(default_factory=dict)  # source positions of each
    lists: dict[Tag, SymbolList] = field(default_factory=dict)  # where outputs have listed symbols

    @property
    def tags(self) -> list[Tag]:
        """The tags of the inputs that are not done."""
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

        Searches that cannot join before their first step take it here, and some inputs may be done.
        """
        search, outputs = newcomers[0].request.search, dict[Tag, Output]()
        fresh = ContinuousBatch(
            self.model, list(newcomers), None, self.source_positions, self.lists
        )
        fresh.state = fresh._begin()
        if not search.joins_before_first_step:
            fresh.state = search.advance(fresh._decoder, fresh.state)
            outputs = fresh._take_finished()
        together = self.join(fresh)
        self.pending, self.state = together.pending, together.state
        return outputs

    @torch.inference_mode()
    def join(self, other: "ContinuousBatch[Tag]") -> "ContinuousBatch[Tag]":
        """Join two batches that may be decoded together; both are consumed."""
        if self.done or other.done:
            return other if self.done else self
        state = join_frontiers(self.state, other.state)
        return ContinuousBatch(
            self.model,
            [*self.pending, *other.pending],
            state,
            self.source_positions | other.source_positions,
            self.lists | other.lists,
        )

    @torch.inference_mode()
    def advance(self) -> dict[Tag, Output]:
        """Advance every input by one step; return the outputs of those done."""
        search = self.pending[0].request.search
        self.state = search.advance(self._decoder, self.state)
        return self._take_finished()

    @torch.inference_mode()
    def advance_until(self, least: int) -> dict[Tag, Output]:
        """Advance until at most so many inputs are left; return the outputs of the others.

        A search that cannot be joined runs to its end.
        """
        if self.done:
            return {}
        search, state, decoder = self.pending[0].request.search, self.state, self._decoder
        while not state.done and not (search.can_join and len(state.sentences) <= least):
            state = search.advance(decoder, state)
        self.state = state
        return self._take_finished()

    def cancel(self, tags: set[Tag]) -> None:
        """Cancel these inputs."""
        for tag in tags:
            self.source_positions.pop(tag, None)
            self.lists.pop(tag, None)
        if not self._can_join:
            if all(each.tag in tags for each in self.pending):
                self.pending = []
            return
        gone = torch.tensor([each.tag in tags for each in self.pending])
        if bool(gone.any()):
            self.state = drop_finished(self.state.drop_sentences(gone))
            self.pending = [each for each in self.pending if each.tag not in tags]

    def stable_tokens(self, tag: Tag, known: int) -> list[StableToken]:
        """The stable tokens of an input's output after the first `known`."""
        places = [place for place, each in enumerate(self.pending) if each.tag == tag]
        if not places or not self._can_join:
            return []
        found, own = stable_tokens(self.state, places[0], known), self.lists.get(tag)
        if own is None:
            return found
        return [each._replace(token=int(own.symbols[each.token])) for each in found]

    @property
    def _decoder(self) -> Any:
        """The model's decoder, or what writes the symbols of its shortlist alone."""
        listed = listed_decoder(self.model.engine, self.pending[0].request)
        return self.model.decoder if listed is None else listed

    def _begin(self) -> Any:
        model, newcomers, asked = self.model, self.pending, self.pending[0].request
        if model.network.training:
            model.network.eval()
        source = pad_batch([each.encoded.values for each in newcomers])
        listed = listed_decoder(model.engine, asked)
        limits, lists = limits_for(newcomers, model.config.search, listed)
        memory = model.encoder.encode(source)
        seen = memory.source_lengths(source)
        self.source_positions |= {
            each.tag: count for each, count in zip(newcomers, seen.tolist(), strict=True)
        }
        state = model.decoder.start(memory, trace=asked.trace)
        if listed is not None:
            self.lists |= {each.tag: own for each, own in zip(newcomers, lists, strict=True)}
            state = ListedState(state, tuple(lists))
        return asked.search.begin(state, replace(limits, sources=seen))

    def _take_finished(self) -> dict[Tag, Output]:
        """Remove the inputs that are done; return their outputs."""
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
                DecodingResult(
                    restore_symbols(result, self.lists.pop(each.tag, None)),
                    tree,
                    self.source_positions.pop(each.tag),
                ),
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
    """The search tree of each sentence; ConfigError if the search keeps none."""
    if not search.can_join:
        raise ConfigError("this search keeps no tree to show", remedy="use a beam")
    return search_trees(state, found)


def decode_parallel(model: DecodingModel, inputs: Sequence[PendingInput[Tag]]) -> dict[Tag, Output]:
    """Decode inputs of one request step by step on all cores."""
    ordered = sorted(inputs, key=lambda each: -len(each.encoded.values))
    shares = max(1, min(torch.get_num_threads(), len(ordered) // MIN_THREAD_INPUTS))
    parts = [ordered[share::shares] for share in range(shares)]
    found = list(parallel_map(partial(decode_batches, model), parts))
    return {tag: output for each in found for tag, output in each.items()}


def decode_batches(model: DecodingModel, inputs: list[PendingInput[Tag]]) -> dict[Tag, Output]:
    """Decode inputs given longest first, at least one.

    When half of a batch is done it waits until two halves at the same step can be joined: products
    of few rows are slow, and rows of unequal length wasteful.
    """
    outputs, resting = dict[Tag, Output](), list[tuple[int, ContinuousBatch[Tag]]]()
    asked = inputs[0].request
    most = max(1, min(BATCH_SENTENCES, ROWS // asked.paths))
    half = 0 if batch_key(asked) is None else most // 2
    for batch in batch_by_length([len(each.encoded.values) for each in inputs], most=most):
        running, joins = ContinuousBatch[Tag](model), 0
        outputs |= running.add([inputs[number] for number in batch])
        outputs |= running.advance_until(half)
        while resting and resting[-1][0] == joins:
            running, joins = resting.pop()[1].join(running), joins + 1
            outputs |= running.advance_until(half)
        resting.append((joins, running))
    while resting:
        _, running = resting.pop()
        outputs |= running.advance_until(half if resting else 0)
        if resting:
            joins, other = resting.pop()
            resting.append((joins, other.join(running)))
    return outputs


def warm_up(model: DecodingModel, pending: PendingInput[Tag]) -> None:
    """Encode an input and decode two steps."""
    running: ContinuousBatch[Tag] = ContinuousBatch(model)
    running.add([pending])
    if not running.done:
        running.advance()


@torch.inference_mode()
def count_positions(encoder: Encoder, given: EncodedInput) -> int:
    """The number of positions of an input that can be attended to."""
    source = pad_batch([given.values])
    return int(encoder.encode(source).source_lengths(source)[0])
