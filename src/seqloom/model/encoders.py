"""Recurrent and trivial encoders (S3.1, S1.7)."""

from typing import Any, Literal

from jaxtyping import Float
from torch import Tensor

from seqloom.config import ENCODERS, RecurrentEncoderConfig
from seqloom.model.connections import (
    CODE,
    SOURCE,
    STATES,
    Connection,
    ConnectionNode,
    Connections,
    ReadingOrder,
    Steps,
)
from seqloom.model.parts import EncoderModule, EncoderSizes, WrappingEncoder
from seqloom.model.stacks import (
    final_connections,
    layer_connections,
    layer_names,
    stack_options,
    unit_factory,
)
from seqloom.model.state import Memory, Source
from seqloom.nn.embedding import Vectors, vectors_label
from seqloom.nn.modules import Dropout
from seqloom.nn.recurrent import AroundStack, Branch, RecurrentStack, reverse

__all__ = [
    "NoEncoder",
    "RecurrentEncoder",
    "ReversedEncoder",
    "ValuesEncoder",
    "VectorsEncoder",
    "input_connections",
    "mean_state",
]

INPUT = "encoder.input"
BRANCH_STEPS: dict[Branch, Steps] = {"whole": "same", "before": "previous", "after": "next"}
"""The step of a stack that a state of the encoder reads."""


def input_connections(
    vectors: Vectors, norm: Literal["none", "first", "after"] = "none"
) -> Connections:
    """The nodes that every encoder has, and the edge from the source's items to their vectors.

    `norm` says whether states have a layer norm of their own.
    """
    nodes = (
        ConnectionNode(SOURCE, "source", label="source"),
        ConnectionNode(INPUT, "input", label=vectors_label(vectors)),
        ConnectionNode(STATES, "states", norm, label="states" if norm == "none" else "norm"),
        ConnectionNode(CODE, "code", once=True, label="code z*"),
    )
    return Connections(nodes, (Connection(SOURCE, INPUT),))


@ENCODERS.part("recurrent")
class RecurrentEncoder(EncoderModule):
    """A recurrent encoder; its last state is the code."""

    def __init__(
        self, embedding: Vectors, stack: RecurrentStack | AroundStack, *, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.stack = stack
        self.dropout = Dropout(dropout)

    @classmethod
    def build(cls, options: RecurrentEncoderConfig, vectors: Vectors) -> "RecurrentEncoder":
        new_unit = unit_factory(options.unit)
        stack: RecurrentStack | AroundStack
        if options.direction == "around":
            layers = stack_options(options, "forward")
            stack = AroundStack(vectors.width, options.width, new_unit, layers)
        else:
            layers = stack_options(options, options.direction)
            stack = RecurrentStack(vectors.width, options.width, new_unit, layers)
        return cls(vectors, stack, dropout=options.dropout)

    @property
    def sizes(self) -> EncoderSizes:
        stack = self.stack
        return EncoderSizes(stack.width, (stack.depth, stack.width), stack.parts, stack.around)

    def encode(self, source: Source) -> Memory:
        mask = source.mask
        inputs = self.dropout(self.embedding(source.values))
        states, code = self.stack(inputs, lengths=source.lengths)
        return Memory(len(source.lengths), self.dropout(states), mask, code)

    def layer_states(self, source: Source) -> list[Float[Tensor, "B S _"]]:
        inputs = self.dropout(self.embedding(source.values))
        layers = [states for states, _ in self.stack.layer_outputs(inputs, lengths=source.lengths)]
        return [inputs, *layers[:-1], self.dropout(layers[-1])]

    def connections(self) -> Connections:
        found = input_connections(self.embedding)
        for branch, stack in self.stack.branches.items():
            prefix = "encoder" if branch == "whole" else f"encoder.{branch}"
            top = layer_names(prefix, stack.depth)[-1]
            ends = Connection(top, STATES, "up", BRANCH_STEPS[branch])
            found = found.merge(layer_connections(stack, prefix, INPUT))
            found = found.merge(Connections((), (ends, *final_connections(stack, prefix))))
        return found


@ENCODERS.part("vectors")
class VectorsEncoder(EncoderModule):
    """Returns the source's embeddings unchanged; their mean is the code."""

    def __init__(self, embedding: Vectors) -> None:
        super().__init__()
        self.embedding = embedding

    @classmethod
    def build(cls, options: Any, vectors: Vectors) -> "VectorsEncoder":
        return cls(vectors)

    @property
    def sizes(self) -> EncoderSizes:
        return EncoderSizes(self.embedding.width, (1, self.embedding.width))

    def encode(self, source: Source) -> Memory:
        vectors, mask = self.embedding(source.values), source.mask
        return Memory(len(source.lengths), vectors, mask, (mean_state(vectors, mask)[:, None],))

    def connections(self) -> Connections:
        edges = Connection(INPUT, STATES), Connection(INPUT, CODE, "pooling", "all")
        return input_connections(self.embedding).merge(Connections((), edges))


@ENCODERS.part("values")
class ValuesEncoder(VectorsEncoder):
    """Returns the numbers of a series unchanged."""

    reads_values = True


@ENCODERS.part("none")
class NoEncoder(EncoderModule):
    """Returns no states, only the number of sentences: for language models (S1.2)."""

    has_source = False

    @classmethod
    def build(cls, options: Any, vectors: Vectors) -> "NoEncoder":
        return cls()

    @property
    def sizes(self) -> EncoderSizes:
        return EncoderSizes()

    def encode(self, source: Source) -> Memory:
        return Memory(len(source.lengths))

    def connections(self) -> Connections:
        return Connections()


class ReversedEncoder(WrappingEncoder):
    """Wraps an encoder to read the source backwards, with the last `closing` items left in place
    (S1.7): one, `<end>`, for a text, and none for numbers.

    States are returned in the order of the source, so that attention shows true positions; with
    `turned`, in the order of reading, for a decoder that reads them itself.

    Sutskever et al. 2014, Sequence to Sequence Learning with Neural Networks.
    """

    def __init__(self, inner: EncoderModule, *, turned: bool = False, closing: int = 1) -> None:
        super().__init__()
        self.inner = inner
        self.turned = turned
        self.closing = closing

    @property
    def order(self) -> ReadingOrder:
        return ReadingOrder(backwards=True, closing=self.closing, turned=self.turned)

    def encode(self, source: Source) -> Memory:
        memory = self.inner.encode(self._reverse(source))
        if memory.states is None or self.turned:
            return memory
        states = reverse(memory.states, source.lengths - self.closing)
        return Memory(memory.sentences, states, memory.mask, memory.code)

    def layer_states(self, source: Source) -> list[Float[Tensor, "B S _"]]:
        layers = self.inner.layer_states(self._reverse(source))
        return [reverse(states, source.lengths - self.closing) for states in layers]

    def _reverse(self, source: Source) -> Source:
        rows, steps = source.values.shape[:2]
        flat = reverse(source.values.reshape(rows, steps, -1), source.lengths - self.closing)
        return Source(flat.view_as(source.values), source.lengths)

    def connections(self) -> Connections:
        inner = self.inner.connections()
        return Connections(inner.nodes, inner.edges, self.order)


def mean_state(states: Float[Tensor, "B S D"], mask: Tensor) -> Float[Tensor, "B D"]:
    """The mean over real positions."""
    real = mask.to(states.dtype)
    return (real[:, None] @ states).squeeze(1) / real.sum(dim=1, keepdim=True)
