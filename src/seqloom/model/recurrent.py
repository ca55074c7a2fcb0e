"""Recurrent encoder and attentive recurrent decoder (SPEC S3.1, S3.2 e, S4.2)."""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.model.state import Code, Features, Memory, Source, State
from seqloom.nn.attention import Merge, Score, attend
from seqloom.nn.dropout import Dropout
from seqloom.nn.embedding import Embedding, OutputLayer
from seqloom.nn.recurrent import RecurrentStack

__all__ = ["AttentiveDecoder", "Bridge", "Ends", "RecurrentEncoder", "RecurrentState"]


class RecurrentEncoder(nn.Module):
    """Reads the source through a stack; its states are attended to, its last state is the code."""

    def __init__(self, embedding: Embedding, stack: RecurrentStack, *, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.stack = stack
        self.dropout = Dropout(dropout)

    def encode(self, source: Source) -> Memory:
        inputs = self.dropout(self.embedding(source.tokens))
        states, code = self.stack(inputs, lengths=source.lengths)
        mask = source.mask
        return Memory(len(source.lengths), self.dropout(states), mask, code)


class Bridge(nn.Module):
    """From the encoder's last states to the decoder's first, whatever their sizes (SPEC S3.1)."""

    def __init__(self, source: tuple[int, int], target: tuple[int, int], *, parts: int) -> None:
        """Sizes are (layers, width); each part of the state has a map of its own."""
        super().__init__()
        self.target = target
        self.maps = nn.ModuleList(
            nn.Linear(source[0] * source[1], target[0] * target[1]) for _ in range(parts)
        )

    def forward(self, code: Code) -> tuple[Float[Tensor, "B L2 D2"], ...]:
        """The hidden state is squashed by tanh as a unit's output is; a cell is not."""
        mapped = [layer(part.flatten(1)) for layer, part in zip(self.maps, code, strict=True)]
        mapped[0] = mapped[0].tanh()
        return tuple(part.unflatten(1, self.target) for part in mapped)


class Layers(NamedTuple):
    """The state of every layer of a path."""

    parts: tuple[Float[Tensor, "R L D"], ...]


class Attended(NamedTuple):
    """What a sentence's paths look at."""

    keys: Float[Tensor, "B S A"]
    values: Float[Tensor, "B S E"]
    mask: Bool[Tensor, "B S"]


RecurrentState = State[Layers, Attended]


class Ends(NamedTuple):
    """Where a decoder meets its vocabulary: token vectors in, and two steps to logits out."""

    embedding: Embedding
    merge: Merge
    output: OutputLayer


class AttentiveDecoder(nn.Module):
    """A recurrent stack over the outputs so far; its current state asks the source (SPEC S4.2).

    What attention finds is merged into the output only, so that in training all steps are computed
    at once, as one loop over the units and one product for all of attention.
    """

    def __init__(
        self, stack: RecurrentStack, bridge: Bridge, score: Score, ends: Ends, *, dropout: float
    ) -> None:
        super().__init__()
        self.stack = stack
        self.bridge = bridge
        self.score = score
        self.embedding, self.merge, self.output = ends
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory, *, trace: bool = False) -> RecurrentState:
        if memory.states is None or memory.mask is None or memory.code is None:
            raise TypeError("an attentive decoder needs the encoder's states and its code")
        shared = Attended(self.score.prepare(memory.states), memory.states, memory.mask)
        return State(Layers(self.bridge(memory.code)), shared, trace)

    def read(
        self, inputs: Int[Tensor, "R T"], state: RecurrentState
    ) -> tuple[Features, RecurrentState]:
        embedded = self.dropout(self.embedding(inputs))
        hidden, layers = self.stack(embedded, state.own.parts)
        keys, values, mask = state.shared
        queries = hidden.reshape(len(mask), -1, hidden.shape[-1])  # (B, K·T, D)
        context, weights = attend(self.score.compare(queries, keys), values, mask)
        context = context.view(*hidden.shape[:2], -1)
        merged = self.merge(hidden, context)
        attention = weights.view(*hidden.shape[:2], -1) if state.trace else None
        after = State(Layers(layers), state.shared, state.trace)
        return Features(self.dropout(merged), attention), after

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return self.output(hidden)
