"""The recurrent decoder in all its forms (S3.1, S3.2, S4.2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.model.initial_state import InitialState
from seqloom.model.state import Features, Memory, State
from seqloom.nn.attention import Attention, AttentionSource
from seqloom.nn.combine import ConcatCombiner, SumCombiner, TanhCombiner
from seqloom.nn.dropout import Dropout
from seqloom.nn.embedding import OutputLayer, TokenVectors, Vectors
from seqloom.nn.recurrent import RecurrentStack

__all__ = [
    "AttentionWiring",
    "RecurrentDecoder",
    "RecurrentState",
    "VocabularyLayers",
    "Wiring",
    "has_fixed_size_state",
]


class PathState(NamedTuple):
    """Where a path stands: every layer's state, steps made, and what it wrote last if that
    is read again."""

    layers: tuple[Float[Tensor, "R L D"], ...]
    positions: Int[Tensor, "R"]
    last: tuple[Float[Tensor, "R W"], ...]


class SourceContext(NamedTuple):
    """What a sentence's paths know of the source: each is there only where it is used."""

    code: tuple[Float[Tensor, "B C"], ...]
    attention_sources: tuple[AttentionSource, ...]


RecurrentState = State[PathState, SourceContext]


Query = Callable[[Float[Tensor, "R T E"], Float[Tensor, "R D"]], Float[Tensor, "R T Q"]]
"""Which vectors ask the source, given the fed-back ones and the top layer's previous state."""


@dataclass(frozen=True)
class AttentionWiring:
    """How attention takes part; without `query`, the current state asks and nothing loops."""

    attention: Attention
    query: Query | None = None  # where attention comes before the units
    sequential: bool = False  # the query needs the step before
    feed: bool = False  # the output of a step joins the input of the next


@dataclass(frozen=True)
class Wiring:
    """What a step reads and what its output layer sees: the forms of S3.2."""

    feedback: bool = True  # (b): the previous output
    soft: bool = False  # in use, as the mean vector under its whole distribution (S2.2)
    code_input: bool = False  # (c)
    code_output: bool = False  # (d)
    code_first: bool = False  # (f)
    attention: AttentionWiring | None = None  # (e)

    @property
    def code(self) -> bool:
        """Whether the code is needed after the start."""
        return self.code_input or self.code_output or self.code_first


class VocabularyLayers(NamedTuple):
    """Where a decoder meets its vocabulary: token vectors and what joins them, then a readout and
    the output layer."""

    embedding: Vectors
    join: ConcatCombiner | SumCombiner
    readout: ConcatCombiner | TanhCombiner
    output: OutputLayer


class RecurrentDecoder(nn.Module):
    """A recurrent stack that goes on from the source's code, or looks at the source, or both.

    Where a step needs nothing of the step before but the units' state, all steps of a `read` are
    computed at once; otherwise one by one, with the same numbers.
    """

    def __init__(
        self,
        stack: RecurrentStack,
        first: InitialState,
        ends: VocabularyLayers,
        wiring: Wiring,
        *,
        dropout: float,
    ) -> None:
        super().__init__()
        self.stack = stack
        self.first = first
        self.embedding, self.join, self.readout, self.output = ends
        self.wiring = wiring
        looking = wiring.attention
        self.attention = None if looking is None else looking.attention
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory, *, trace: bool = False) -> RecurrentState:
        layers = self.first(memory, self.stack)
        like = layers[0]
        positions = torch.zeros(memory.sentences, dtype=torch.int64, device=like.device)
        looking = self.wiring.attention
        keeps = self.wiring.soft or (looking is not None and looking.feed)
        last = (like.new_zeros(memory.sentences, self.readout.width),) if keeps else ()
        return State(PathState(layers, positions, last), self._source_context(memory), trace)

    def read(
        self, inputs: Int[Tensor, "R T"], state: RecurrentState
    ) -> tuple[Features, RecurrentState]:
        return self.read_vectors(self.embedding(inputs), state)

    def read_vectors(
        self, vectors: Float[Tensor, "R T E"], state: RecurrentState
    ) -> tuple[Features, RecurrentState]:
        """The same for what may be no token's own vector."""
        if vectors.shape[1] == 1 or not self._is_sequential():
            return self._advance(vectors, state)
        steps = []
        for one in vectors.split(1, dim=1):
            features, state = self._advance(one, state)
            steps.append(features)
        attention = [step.attention for step in steps if step.attention is not None]
        hidden = torch.cat([step.hidden for step in steps], dim=1)
        return Features(hidden, torch.cat(attention, dim=1) if attention else None), state

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return self.output(hidden)

    def _source_context(self, memory: Memory) -> SourceContext:
        code: tuple[Tensor, ...] = ()
        if self.wiring.code:
            if memory.code is None:
                raise TypeError("this decoder reads the code, which the encoder does not give")
            code = (memory.code[0][:, -1],)
        if self.attention is None:
            return SourceContext(code, ())
        if memory.states is None or memory.mask is None:
            raise TypeError("an attentive decoder needs the encoder's states")
        return SourceContext(code, (self.attention.prepare(memory.states, memory.mask),))

    def _is_sequential(self) -> bool:
        """Whether a step needs the output or the state of the step before."""
        looking = self.wiring.attention
        waits = looking is not None and (looking.feed or looking.sequential)
        return waits or (self.wiring.soft and not self.training)

    def _advance(
        self, vectors: Float[Tensor, "R T E"], state: RecurrentState
    ) -> tuple[Features, RecurrentState]:
        """T steps at once; only one where a step needs the one before."""
        own, given, looking = state.own, state.shared, self.wiring.attention
        fed = self._feedback_vectors(vectors, own)
        context: list[Tensor] = []
        weights = None
        if looking is not None and looking.query is not None:
            query = looking.query(fed, own.layers[0][:, -1])
            found, weights = looking.attention(query, given.attention_sources[0], own.positions)
            context = [found]
        hidden, layers = self.stack(self._unit_inputs(fed, context, state), own.layers)
        if looking is not None and looking.query is None:
            found, weights = looking.attention(hidden, given.attention_sources[0], own.positions)
            context = [found]
        if self.wiring.code_output:
            context = [*context, _repeat_code(given.code[0], hidden)]
        output = self.dropout(self.readout([hidden, *context]))
        last = (output[:, -1],) if own.last else ()
        after = PathState(layers, own.positions + vectors.shape[1], last)
        attention = weights if state.trace else None
        return Features(output, attention), State(after, given, state.trace)

    def _feedback_vectors(
        self, vectors: Float[Tensor, "R T E"], own: PathState
    ) -> Float[Tensor, "R T E"]:
        """The vectors of what was written before: those given, or of all that it might be.

        In training soft feedback takes what it is given; the first input is `<start>` always.
        """
        if self.wiring.soft and not self.training and isinstance(self.embedding, TokenVectors):
            likely = self.embedding.mean(self.write(own.last[0]).softmax(-1))[:, None]
            vectors = torch.where(own.positions[:, None, None] > 0, likely, vectors)
        return self.dropout(vectors)

    def _unit_inputs(
        self, fed: Float[Tensor, "R T E"], context: list[Tensor], state: RecurrentState
    ) -> Float[Tensor, "R T I"]:
        """What the units read."""
        wiring, own, given = self.wiring, state.own, state.shared
        parts = [fed] if wiring.feedback else []
        if wiring.code_input:
            parts.append(_repeat_code(given.code[0], fed))
        if wiring.code_first:
            at = own.positions[:, None] + torch.arange(fed.shape[1], device=fed.device)
            parts.append(_repeat_code(given.code[0], fed) * (at == 0)[:, :, None])
        parts += context
        if wiring.attention is not None and wiring.attention.feed:
            parts.append(own.last[0][:, None])
        return self.join(parts or [fed.new_zeros(*fed.shape[:2], 1)])


def has_fixed_size_state(decoder: object) -> bool:
    """Whether a decoder's state stays of one size, so that it can go on for ever."""
    return isinstance(decoder, RecurrentDecoder)


def _repeat_code(code: Float[Tensor, "B C"], like: Float[Tensor, "R T _"]) -> Tensor:
    """The code of a row's sentence, at every step."""
    rows, steps = like.shape[:2]
    beams = code[:, None].expand(-1, rows // len(code), -1).reshape(rows, 1, -1)
    return beams.expand(-1, steps, -1)
