"""Inputs that are decoded together and come and go one by one, a step at a time (S7.4).

`Model.predict` lets inputs join those that are half done; a server those that arrive meanwhile, of
which each may be given up or watched while it is written.
Plain searches are carried out by the compiled core as a whole, without a step in Python.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

import torch

from seqloom.config import Config, SearchConfig
from seqloom.engine.from_network import plan_of
from seqloom.engine.selection import Engine
from seqloom.errors import ConfigError
from seqloom.fields import TextField
from seqloom.model import Decoder, Encoder, SequenceModel
from seqloom.prediction.inputs import EncodedInput, pad_batch
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
    "WholeBatch",
    "batch_key",
    "fits_whole_batch",
    "limits_for",
    "search_whole",
]

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


MOST_WORK = 2_000  # tokens of all paths of an input up to which nobody need look in between


class EngineModel(DecodingModel, Protocol):
    """A model that an engine may run."""

    @property
    def engine(self) -> Engine | None: ...


def search_whole(
    model: EngineModel, inputs: Sequence[PendingInput[Tag]], *, threads: int
) -> dict[Tag, Output] | None:
    """The outputs of inputs with one request, by their tags, on so many threads.

    None where the core has no loop for the search, or something is asked for that only a search
    step by step tells.
    """
    engine, asked = model.engine, inputs[0].request
    if engine is None or engine.compiled is None or asked.options.tree:
        return None
    limits = limits_for(inputs, model.config.search)
    rows = [each.encoded.values for each in inputs]
    found = engine.compiled.search(rows, asked.search, limits, threads=threads)
    if found is None:
        return None
    if asked.trace:
        wanted = [asked.select(outputs) for outputs in found]
        found = engine.compiled.attend(rows, wanted, limits)
    return {
        each.tag: model.build_output(
            each.encoded, DecodingResult(outputs, [], len(row)), each.request
        )
        for each, row, outputs in zip(inputs, rows, found, strict=True)
    }


def fits_whole_batch(model: EngineModel, pending: PendingInput[Tag]) -> bool:
    """Whether an input can be searched for as a whole, and soon enough to be left alone."""
    engine, asked = model.engine, pending.request
    if engine is None or engine.compiled is None or asked.options.tree:
        return False
    limits = limits_for([pending], model.config.search)
    if plan_of(asked.search, limits) is None:
        return False
    return asked.search.paths * int(limits.longest.sum()) <= MOST_WORK


@dataclass
class WholeBatch(Generic[Tag]):
    """Inputs that are searched for together, from their first step to their last in one."""

    model: EngineModel
    pending: list[PendingInput[Tag]] = field(default_factory=list)

    @property
    def tags(self) -> list[Tag]:
        """Those of the inputs that are not done."""
        return [each.tag for each in self.pending]

    @property
    def done(self) -> bool:
        """Whether no input is left."""
        return not self.pending

    def add(self, newcomers: Sequence[PendingInput[Tag]]) -> dict[Tag, Output]:
        """Let these inputs wait for the next search."""
        self.pending = [*self.pending, *newcomers]
        return {}

    @torch.inference_mode()
    def advance(self) -> dict[Tag, Output]:
        """The outputs of all that wait, on one thread."""
        inputs, self.pending = self.pending, []
        found = search_whole(self.model, inputs, threads=1)
        if found is None:
            raise TypeError("these inputs cannot be searched for as a whole")
        return found

    def cancel(self, tags: set[Tag]) -> None:
        """Go on without these inputs."""
        self.pending = [each for each in self.pending if each.tag not in tags]

    def stable_tokens(self, tag: Tag, known: int) -> list[StableToken]:
        """None, since nothing is known of an output before all of it is."""
        return []
